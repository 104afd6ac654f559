package shim

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits of each plugin.
const (
	MaxOpenFiles = 256
	MaxFileSize  = 64 << 20 // that it may write
	MaxTasks     = 256      // processes and threads of a plugin
	TasksOfShim  = 64       // that count with them in the namespace, so that watchTasks reports the excess first
	maxShared    = "16m"    // of files in its /dev/shm
	FirstToEnd   = "1000"   // if memory runs out (oom_score_adj)
	otherABI     = 1 << 30  // system calls of x32 have higher numbers
	memfdSecret  = 447      // the number of memfd_secret, the same on all architectures
)

// confine limits the program that this process will execute: its memory, open files, file sizes and processes. It has
// no core dumps. The limits also apply to this shim, which needs less.
func confine(order Order) error {
	if order.Data == 0 {
		return nil
	}
	limits := map[int]uint64{unix.RLIMIT_DATA: order.Data, unix.RLIMIT_NOFILE: MaxOpenFiles,
		unix.RLIMIT_FSIZE: MaxFileSize, unix.RLIMIT_CORE: 0}
	if order.InNamespace && CountsTasksByNamespace() {
		limits[unix.RLIMIT_NPROC] = MaxTasks + TasksOfShim
	}
	var err error
	for resource, most := range limits {
		err = errors.Join(err, unix.Prlimit(0, resource, &unix.Rlimit{Cur: most, Max: most}, nil))
	}
	return errors.Join(err, denyHiddenMemory())
}

// CountsTasksByNamespace reports whether the kernel counts the processes of a user in each user namespace (Linux 5.14).
// Before, it counts those of the hub, too. It never limits root.
func CountsTasksByNamespace() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	major, minor := 0, 0
	_, _ = fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return major > 5 || major == 5 && minor >= 14
}

// denyHiddenMemory makes the system calls fail that allocate memory outside of any process, as if the kernel lacked
// them. These are shared anonymous memory, also as files, and file systems in memory. No limit applies to them, and
// what a process has unmapped is not measured. Programs use a fallback.
func denyHiddenMemory() error {
	arch, known := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !known {
		return nil
	}
	denied := []uint32{unix.SYS_MEMFD_CREATE, memfdSecret, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_MOUNT,
		unix.SYS_FSOPEN}
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		and     = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		result  = unix.BPF_RET | unix.BPF_K

		number, architecture, flags = 0, 4, 16 + 3*8 // offsets in seccomp_data; flags: of mmap
		shared                      = unix.MAP_SHARED | unix.MAP_ANONYMOUS
	)
	n := uint8(len(denied))
	filter := []unix.SockFilter{
		{Code: load, K: architecture}, {Code: equal, K: arch, Jf: n + 7},
		{Code: load, K: number}, {Code: atLeast, K: otherABI, Jt: n + 5},
	}
	for i, call := range denied {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jt: n - uint8(i) + 4})
	}
	filter = append(filter,
		unix.SockFilter{Code: equal, K: unix.SYS_MMAP, Jf: 3}, unix.SockFilter{Code: load, K: flags},
		unix.SockFilter{Code: and, K: shared}, unix.SockFilter{Code: equal, K: shared, Jt: 1},
		unix.SockFilter{Code: result, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if errors.Is(err, syscall.EINVAL) { // the kernel has no filters
		return nil
	}
	return err
}

// HideMemory protects this process's memory and environment, which contain keys, from other processes of the same user,
// such as plugins. It does not apply to child processes.
func HideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
