package hub

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCgroupMemoryIsTheLowestParentLimit(t *testing.T) {
	files := map[string]string{
		"/proc/self/cgroup":                           "1:name=systemd:/x\n0::/a.slice/b.service\n",
		"/sys/fs/cgroup/a.slice/b.service/memory.max": "2147483648\n",
		"/sys/fs/cgroup/a.slice/memory.max":           "1073741824\n",
		"/sys/fs/cgroup/memory.max":                   "max\n",
	}
	read := func(name string) ([]byte, error) {
		text, found := files[name]
		if !found {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	require.EqualValues(t, 1<<30, groupMemory(read))
	delete(files, "/sys/fs/cgroup/a.slice/memory.max")
	require.EqualValues(t, 2<<30, groupMemory(read))
	files["/proc/self/cgroup"] = "0::/\n"
	files["/sys/fs/cgroup/memory.max"] = "536870912\n"
	require.EqualValues(t, 512<<20, groupMemory(read), "as in a container")
	delete(files, "/proc/self/cgroup")
	require.Zero(t, groupMemory(read))
}

func TestBodiesGetHalfOfTheMemory(t *testing.T) {
	const none, mib = math.MaxInt64, 1 << 20
	for _, c := range []struct {
		name                       string
		configured, goLimit, group int64
		limit, bodies              int64
	}{
		{"no limit", 0, none, 0, 1024 * mib, 512 * mib},
		{"GOMEMLIMIT", 0, 450 * mib, 512 * mib, 450 * mib, 225 * mib},
		{"a control group", 0, none, 1000 * mib, 800 * mib, 400 * mib},
		{"little memory", 0, none, 100 * mib, 80 * mib, 64 * mib},
		{"a small budget", 100 * mib, none, 0, 1024 * mib, 100 * mib},
		{"a large budget", 2048 * mib, none, 0, 4096 * mib, 2048 * mib},
		{"a budget and a control group", 100 * mib, none, 1000 * mib, 800 * mib, 100 * mib},
	} {
		limit, bodies := memoryLimits(c.configured, c.goLimit, c.group)
		require.EqualValues(t, c.limit, limit, c.name)
		require.EqualValues(t, c.bodies, bodies, c.name)
	}
}
