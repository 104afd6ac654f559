package hub

import (
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

func TestMain(m *testing.M) {
	hubtest.Main(m, installtest.RemoveAll)
}
