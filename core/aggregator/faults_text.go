package aggregator

import (
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
)

// FaultsText returns the faults of a plugin and its requests that are set aside, for people.
func FaultsText(id string, faults console.PluginFaults, stack bool) string {
	to := &strings.Builder{}
	if len(faults.Causes) == 0 {
		fmt.Fprintf(to, "plugin %s has no faults\n", id)
	}
	for _, c := range faults.Causes {
		fmt.Fprintf(to, "%s  %-8s  %d times since %s, version %s\n", c.Last.Format(time.RFC3339), c.Kind, c.Count,
			c.First.Format(time.RFC3339), c.Version)
		fmt.Fprintf(to, "    %s\n", c.Text)
		if about := subject(c.Business, c.Platform, c.About); about != "" {
			fmt.Fprintf(to, "    at %s\n", strings.TrimSpace(c.Call+" "+about))
		}
		if stack && c.Stack != "" {
			fmt.Fprintf(to, "      %s\n", strings.ReplaceAll(c.Stack, "\n", "\n      "))
		}
	}
	if len(faults.SetAside) == 0 {
		return to.String()
	}
	fmt.Fprintf(to, "\nrequests set aside, which servery plugin retry %s [ID…] tries again:\n", id)
	for _, r := range faults.SetAside {
		fmt.Fprintf(to, "%6d  %s  %s %s, version %s\n        %s\n", r.ID, r.At.Format(time.RFC3339), r.Call,
			subject(r.Business, r.Platform, r.About), r.Version, r.Fault)
	}
	fmt.Fprintf(to, "\n%s\n", pluginhost.QuarantineRule)
	return to.String()
}

// subject describes what a call is about.
func subject(business core.BusinessID, platform, about string) string {
	if business != 0 {
		about = fmt.Sprintf("%s of business %d on %s", about, business, platform)
	}
	return strings.TrimSpace(about)
}
