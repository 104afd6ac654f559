package simulator

import (
	"cmp"
	"fmt"
	"time"
)

// String describes a fault for people.
func (f Fault) String() string {
	line := fmt.Sprintf("%-10s %-16s %-15s", f.Kind, cmp.Or(f.Platform, "all platforms"),
		cmp.Or(string(f.Call), "all calls"))
	if f.Status != 0 {
		line += fmt.Sprintf(" status %d", f.Status)
	}
	if f.DelayMS != 0 {
		line += fmt.Sprintf(" delay %s", time.Duration(f.DelayMS)*time.Millisecond)
	}
	if f.Probability != 0 {
		line += fmt.Sprintf(" probability %g, seed %d", f.Probability, f.Seed)
	}
	if f.Times != 0 {
		line += fmt.Sprintf(" %d times", f.Times)
	}
	if !f.Until.IsZero() {
		line += " until " + f.Until.UTC().Format("15:04:05 UTC")
	}
	if f.Space == "" {
		line += " (of everybody: started with the simulator)"
	}
	return fmt.Sprintf("%s, struck %d times", line, f.Hits)
}
