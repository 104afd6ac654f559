package plugindir

import (
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }
