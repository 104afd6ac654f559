package hub

import (
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/pluginhost"
)

func TestMain(m *testing.M) {
	pluginhost.Shim()
	hubtest.Main(m, installtest.RemoveAll)
}
