package hub

import (
	"context"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web"
)

// Bounds of the memory budget for bodies, in bytes.
const (
	// minMemory is the smallest budget.
	minMemory     = 64 << 20
	defaultMemory = 512 << 20 // if the process has no known limit
	pluginShare   = 5         // a fifth of a control group's memory is for plugins
	bodyShare     = 2         // half of the memory is for bodies
)

// bodyMemory returns the budget for bodies. It also sets the Go runtime's memory limit, unless GOMEMLIMIT does.
func bodyMemory(configured int64) int64 {
	limit, bodies := memoryLimits(configured, debug.SetMemoryLimit(-1), groupMemory(os.ReadFile))
	debug.SetMemoryLimit(limit)
	return bodies
}

// memoryLimits returns the Go runtime's memory limit and the budget for bodies, in bytes. GOMEMLIMIT comes before the
// limit of the control group, which the runtime does not read. Without both, the limit follows from the budget:
// otherwise the garbage of bodies would take several times their memory.
func memoryLimits(configured, goLimit, group int64) (limit, bodies int64) {
	switch {
	case goLimit != math.MaxInt64:
		limit = goLimit
	case group > 0:
		limit = group - group/pluginShare
	default:
		limit = bodyShare * max(configured, defaultMemory)
	}
	if configured > 0 {
		return limit, configured
	}
	return limit, max(limit/bodyShare, minMemory)
}

// groupMemory returns the memory limit of the process's control group or its ancestors (cgroups v2), or 0 if there is
// none.
func groupMemory(read func(string) ([]byte, error)) int64 {
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	var group string
	for line := range strings.Lines(string(groups)) {
		if name, found := strings.CutPrefix(line, "0::"); found {
			group = path.Clean("/" + strings.TrimSpace(name))
		}
	}
	lowest := int64(0)
	for ; group != ""; group = path.Dir(group) {
		text, err := read(path.Join("/sys/fs/cgroup", group, "memory.max"))
		if err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && (lowest == 0 || n < lowest) {
				lowest = n
			}
		}
		if group == "/" {
			break
		}
	}
	return lowest
}

// jobMemory makes jobs use the budget for bodies (job.Memory).
type jobMemory struct{ *limit.Memory }

// NewReservation reserves memory for one job.
func (m jobMemory) NewReservation() job.Reservation {
	return &jobShare{m.Memory.NewReservation(limit.Jobs)}
}

// jobShare is the memory of one job. A job that needs more than the budget reserves all of it and runs alone, because
// it was already accepted.
type jobShare struct{ limit.Reservation }

// Body reserves the memory of a body.
func (s *jobShare) Body(ctx context.Context, size int) error {
	return s.GrowBytes(ctx, s.ClampBytes(int64(size)))
}

// Decode reserves the memory of a decoded body.
func (s *jobShare) Decode(ctx context.Context, body []byte) error {
	return s.GrowDecoded(ctx, s.ClampDecoded(web.JobCost.Of(body)))
}

// memoryCollector exports metrics of the memory for bodies.
type memoryCollector struct{ memory *limit.Memory }

var (
	memoryUsed = prometheus.NewDesc("servery_body_memory_bytes",
		"Memory for bodies in use, of the class of the sender: raw as received, decoded as parsed.",
		[]string{"class", "form"}, nil)
	memorySize = prometheus.NewDesc("servery_body_memory_limit_bytes",
		"Memory for bodies that there is.", []string{"class", "form"}, nil)
	memoryRefused = prometheus.NewDesc("servery_body_memory_refused_total",
		"Requests refused because no memory became free in time.", []string{"class", "form"}, nil)
)

// Describe implements prometheus.Collector.
func (memoryCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- memoryUsed
	ch <- memorySize
	ch <- memoryRefused
}

// Collect implements prometheus.Collector.
func (f memoryCollector) Collect(ch chan<- prometheus.Metric) {
	for _, u := range f.memory.Usages() {
		form := map[bool]string{false: "raw", true: "decoded"}[u.Decoded]
		ch <- prometheus.MustNewConstMetric(memoryUsed, prometheus.GaugeValue, float64(u.Used), u.Class.String(), form)
		ch <- prometheus.MustNewConstMetric(memorySize, prometheus.GaugeValue, float64(u.Size), u.Class.String(), form)
		ch <- prometheus.MustNewConstMetric(memoryRefused, prometheus.CounterValue, float64(u.Refused),
			u.Class.String(), form)
	}
}
