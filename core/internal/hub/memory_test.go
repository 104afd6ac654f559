package hub

import (
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
