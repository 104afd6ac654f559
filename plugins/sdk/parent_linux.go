package sdk

import "syscall"

// askForSignal makes the kernel send SIGTERM when the parent dies. The host may have requested SIGKILL, which would
// leave the plugin's socket behind.
func askForSignal() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0)
}
