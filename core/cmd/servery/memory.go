package main

import (
	"context"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web"
)

// Bounds of the budget for bodies, in bytes.
const (
	leastMemory    = 64 << 20
	usualMemory    = 512 << 20 // where no limit of the process is known
	plugInShare    = 5         // a fifth of a control group's memory is left to plugins
	bodiesOfMemory = 2         // half of the memory is for bodies
)

// bodyMemory returns the budget for bodies: as the operator says, or else half of the
// memory that the process may use. A limit that only the control group states becomes
// that of the Go runtime, which else would not know it.
func bodyMemory(asked int64) int64 {
	if asked > 0 {
		return asked
	}
	most := debug.SetMemoryLimit(-1) // GOMEMLIMIT
	if most == math.MaxInt64 {
		group := groupMemory(os.ReadFile)
		if group == 0 {
			return usualMemory
		}
		most = group - group/plugInShare
		debug.SetMemoryLimit(most)
	}
	return max(most/bodiesOfMemory, leastMemory)
}

// groupMemory returns the memory that the control group of the process may use, or one
// above it (cgroups v2): 0 where there is no limit.
func groupMemory(read func(string) ([]byte, error)) int64 {
	own, err := read("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	var group string
	for line := range strings.Lines(string(own)) {
		if name, found := strings.CutPrefix(line, "0::"); found {
			group = path.Clean("/" + strings.TrimSpace(name))
		}
	}
	least := int64(0)
	for ; group != ""; group = path.Dir(group) {
		text, err := read(path.Join("/sys/fs/cgroup", group, "memory.max"))
		if err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && (least == 0 || n < least) {
				least = n
			}
		}
		if group == "/" {
			break
		}
	}
	return least
}

// jobMemory has jobs draw on the budget for bodies (job.Memory).
type jobMemory struct{ *limit.Memory }

// Ask begins the share of one job.
func (m jobMemory) Ask() job.Share { return &jobShare{m.Memory.Ask(limit.Large)} }

// jobShare is what one job holds. A job that needs more than there is was accepted
// all the same: it gets everything, and runs alone.
type jobShare struct{ limit.Share }

// Body reserves the memory of a body.
func (s *jobShare) Body(ctx context.Context, size int) error {
	return s.Bytes(ctx, s.AtMostBytes(int64(size)))
}

// Decode reserves the memory that a body is decoded into.
func (s *jobShare) Decode(ctx context.Context, body []byte) error {
	return s.Decoded(ctx, s.AtMostDecoded(web.JobCost.Of(body)))
}
