package reference_test

import (
	"testing"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }
