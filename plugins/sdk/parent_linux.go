package sdk

import "syscall"

// askForSignal has the kernel send SIGTERM when the parent dies. A host may have
// asked for SIGKILL; a plugin that ends by itself removes its socket too.
func askForSignal() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0)
}
