// Hostile is a plugin with faults. The name of its program and the requests select the fault.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type hostile struct{ version string }

func (h hostile) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "hostile", Version: h.version, DisplayName: "Hostile",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"api.example.com"}}},
		Secrets:   []*pb.Secret{{Name: "token"}},
		Limits:    &pb.Limits{MemoryMb: 128, InFlight: 4},
	}, nil
}

// Configure never ends for settings with "hang".
func (hostile) Configure(ctx context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	if strings.Contains(string(call.GetSettings()), `"hang"`) {
		<-ctx.Done()
	}
	return nil, ctx.Err()
}

// CheckItems acts by the first item's ref_id.
func (h hostile) CheckItems(ctx context.Context, call *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	first := items[0]
	var message string
	var err error
	switch first.RefId {
	case "settings":
		message = fmt.Sprintf("%d %s %s", call.Business, call.Platform, call.Settings)
	case "version":
		message = h.version
	case "find":
		message = first.Description
	case "refuse":
		err = sdk.Refusef("%s", first.Description)
	case "deadline":
		until, _ := ctx.Deadline()
		message = fmt.Sprint(time.Until(until) > 30*time.Second)
	case "wait":
		message, err = h.version, waitForFile(ctx, first.Description)
	case "crash-late": // whether or not the caller still waits
		err = os.WriteFile(first.Description+".waits", nil, 0o600)
		if err == nil {
			err = waitForFile(context.WithoutCancel(ctx), first.Description)
		}
		os.Exit(3)
	case "read":
		message = read(first.Description)
	case "look":
		message, err = look()
	case "child", "child-elsewhere", "child-without-environment", "child-without-trace":
		message, err = startChild(first.RefId)
	case "unknown-item":
		return []*sdk.Finding{{RefId: "of-somebody-else", Rule: "x"}}, nil
	case "finding-without-message":
		return []*sdk.Finding{{RefId: first.RefId, Rule: "x"}}, nil
	case "findings-without-end":
		finding := &sdk.Finding{RefId: first.RefId, Rule: "x", Message: strings.Repeat("x", 1000)}
		findings := make([]*sdk.Finding, 1<<20)
		for i := range findings {
			findings[i] = finding
		}
		return findings, nil
	case "hold-memory": // after a stack in the log that is not its own
		fmt.Fprintf(os.Stderr, "goroutine 1 [running]:\nmain.earlier%d(0x1)\n", os.Getpid())
		held := make([]byte, 200<<20)
		for i := 0; i < len(held); i += 4096 {
			held[i] = 1
		}
		<-ctx.Done()
		message = fmt.Sprint(len(held))
	case "crash", "crash-once", "panic", "panic-outside", "stop", "flood", "hang-up":
		crash(first.RefId, first.Description)
	default:
		message, err = useResources(first.RefId)
	}
	if message == "" || err != nil {
		return nil, err
	}
	return []*sdk.Finding{{RefId: first.RefId, Rule: "says", Message: message}}, nil
}

// waitForFile waits until a file exists.
func waitForFile(ctx context.Context, path string) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for ctx.Err() == nil {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		<-look.C
	}
	return ctx.Err()
}

// read returns the content of a file, or the error.
func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// look counts the visible processes and the active network interfaces.
func look() (string, error) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	interfaces, err := net.Interfaces()
	up := 0
	for _, one := range interfaces {
		if one.Flags&net.FlagUp != 0 {
			up++
		}
	}
	return fmt.Sprintf("%d processes, %d interfaces", len(processes), up), err
}

// startChild starts a process outside the plugin's process group.
func startChild(kind string) (string, error) {
	child := exec.Command("/bin/sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	switch kind {
	case "child-elsewhere":
		child.Dir = "/"
	case "child-without-environment":
		child.Env = []string{"A=b"}
	case "child-without-trace":
		child.Dir, child.Env = "/", []string{"A=b"}
	}
	if err := child.Start(); err != nil {
		return "", err
	}
	return fmt.Sprint(child.Process.Pid), nil
}

// startMany starts up to 400 processes or threads that sleep, and returns how many.
func startMany(kind string) int {
	var children []int
	for n := range 400 {
		if kind == "start-threads" {
			go func() { _ = syscall.Nanosleep(&syscall.Timespec{Sec: 1000}, nil) }()
			continue
		}
		child, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1003"}, nil)
		if err != nil {
			for _, last := range children[max(0, n-10):] { // leaves some for the threads of this process
				_ = syscall.Kill(last, syscall.SIGKILL)
				_, _ = syscall.Wait4(last, nil, 0, nil)
			}
			return n
		}
		children = append(children, child)
	}
	return 400
}

// crash ends or stops the process. "crash-once" leaves a file as the mark that it has done so.
func crash(kind, mark string) {
	switch kind {
	case "crash":
		os.Exit(3)
	case "crash-once":
		if _, err := os.Stat(mark); err != nil {
			_ = os.WriteFile(mark, nil, 0o600)
			os.Exit(3)
		}
	case "panic":
		panic("a mistake" + mark)
	case "panic-outside":
		go panic(mark)
		hang()
	case "flood":
		for n := range 2_000 {
			fmt.Fprintf(os.Stderr, "{\"@level\":\"error\",\"@message\":\"line %d: %s\",\"n\":%d}\n", n, mark, n)
		}
		fmt.Fprintln(os.Stderr, mark)
		os.Exit(3)
	case "hang-up": // the process goes on, and accepts another connection
		for fd := range 256 {
			if _, err := syscall.Getpeername(fd); err == nil {
				_ = syscall.Shutdown(fd, syscall.SHUT_RDWR)
			}
		}
		hang()
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		hang() // other threads run on for a moment
	}
}

// useResources uses more processes, memory, file space or output than the plugin may.
func useResources(kind string) (string, error) {
	switch kind {
	case "start-processes", "start-threads":
		return fmt.Sprint(startMany(kind)), nil
	case "child-eats", "disguised-child-eats":
		child := &exec.Cmd{Path: "/proc/self/exe", Args: []string{strings.TrimPrefix(kind, "child-")},
			SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
		return "started", child.Start()
	case "hidden-memory":
		_, file := unix.MemfdCreate("hidden", 0)
		_, segment := unix.SysvShmGet(0, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
		_, mapping := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANON)
		system := unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "")
		return fmt.Sprintf("%v, %v, %v, %v", file, segment, mapping, system), nil
	case "fill-shared":
		err := os.WriteFile("/dev/shm/full", make([]byte, 17<<20), 0o600)
		return fmt.Sprint(err), nil
	case "share":
		zero, err := os.OpenFile("/dev/zero", os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		shared, err := unix.Mmap(int(zero.Fd()), 0, 200<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		for i := 0; i < len(shared); i += 4096 {
			shared[i] = 1
		}
		return "shared", err
	case "write":
		file, err := os.Create("large")
		if err == nil {
			err = file.Truncate(65 << 20)
		}
		return "written", err
	case "print":
		long := strings.Repeat("y", 200_000)
		_, _ = syscall.Write(1, []byte(long+"\nmore\n"))
		fmt.Println(long)
		fmt.Fprintln(os.Stderr, long)
		return "printed", nil
	case "eat":
		var eaten [][]byte
		for range 64 {
			part := make([]byte, 64<<20)
			for i := range part {
				part[i] = 1
			}
			eaten = append(eaten, part)
		}
		return fmt.Sprint(len(eaten)), nil
	}
	return "", nil
}

// PlanRiderStatus plans by the order's platform_order_id.
func (hostile) PlanRiderStatus(ctx context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	plan := &sdk.Plan{Endpoint: "api", Method: "POST", Path: "/riders"}
	switch r.GetOrder().GetPlatformOrderId() {
	case "other-endpoint":
		plan.Endpoint = "metadata"
	case "other-host":
		plan.Path = "//evil.example.com/riders"
	case "whole-address":
		plan.Path = "https://evil.example.com/riders"
	case "host-header":
		plan.Headers = map[string]string{"Host": "evil.example.com"}
	case "other-secret":
		plan.SecretHeaders = []*sdk.SecretHeader{{Header: "X-Token", Secret: "of_the_hub", Template: "{secret}"}}
	case "nothing":
		return &sdk.Decision{}, nil
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "crash":
		os.Exit(3)
	}
	return sdk.Send(plan)
}

// Render crashes on the menu of one store, waits for a file for some, and never ends for others.
func (hostile) Render(ctx context.Context, _ *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	if menu.GetStore().GetRefId() == "crash" {
		os.Exit(3)
	}
	if file, waits := strings.CutPrefix(menu.GetStore().GetRefId(), "wait:"); waits {
		if err := waitForFile(ctx, file); err != nil {
			return nil, err
		}
		return sdk.Send(&sdk.Plan{Endpoint: "api", Method: "PUT", Path: "/menu"})
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Translate acts by the kind: it never ends, or returns an invalid amount or nothing.
func (hostile) Translate(ctx context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	switch request.GetKind() {
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "amounts":
		order := &sdk.NewOrder{Items: []*pb.OrderItem{{Price: "0x10"}}}
		return &sdk.Translation{Meaning: &pb.Translation_Order{Order: order}}, nil
	case "absent":
		return nil, status.Error(codes.Unimplemented, string(request.GetBody()))
	}
	return &sdk.Translation{}, nil
}

func main() {
	mode := filepath.Base(os.Args[0])
	switch mode {
	case "mute":
		hang()
	case "stopped":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		hang()
	case "starts-many": // once the test requests it
		go func() {
			_ = waitForFile(context.Background(), "start")
			_ = os.WriteFile("starting", fmt.Append(nil, startMany("")), 0o600)
			_ = os.Rename("starting", "started")
		}()
	case "replaces-itself": // by a pipe that nobody writes
		_ = os.Remove(mode)
		if err := syscall.Mkfifo(mode, 0o600); err != nil {
			panic(err)
		}
	case "disguised-child-eats", "eats":
		if mode != "eats" { // looks like a child of process 1
			_ = os.WriteFile("/proc/self/comm", []byte("x) S 1 1 1 1 1"), 0)
		}
		eaten := make([]byte, 200<<20)
		for i := 0; i < len(eaten); i += 4096 {
			eaten[i] = 1
		}
		hang()
	case "leaves-a-child": // an orphan in a separate session
		double := exec.Command("/bin/sh", "-c", "/bin/sleep 1000 & exit 0")
		double.Dir, double.Env, double.SysProcAttr = "/", []string{"A=b"}, &syscall.SysProcAttr{Setsid: true}
		if err := double.Run(); err != nil {
			panic(err)
		}
	case "dies":
		fmt.Fprintln(os.Stderr, "there is no disk")
		os.Exit(7)
	case "panics":
		panic("there is no table")
	case "babbles":
		fmt.Println("hello")
		hang()
	case "babbles-long":
		fmt.Print(strings.Repeat("z", 100_000))
		hang()
	case "elsewhere":
		fmt.Println("1|1|tcp|127.0.0.1:9|grpc")
		hang()
	case "logs-a-number":
		fmt.Fprintln(os.Stderr, `{"@level":"info","@message":7,"@timestamp":"x"}`)
		fmt.Fprintln(os.Stderr, `{"@level":{"a":1},"@message":["x"]}`)
	}
	version := "1.0.0"
	if mode == "second" {
		version = "2.0.0"
	}
	server, err := sdk.NewServer(hostile{version}, slog.New(sdk.NewLogHandler(os.Stderr, slog.LevelInfo)))
	if err != nil {
		panic(err)
	}
	config := server.ServeConfig(nil)
	config.GRPCServer = func(options []grpc.ServerOption) *grpc.Server {
		options = append(options, grpc.ChainUnaryInterceptor(faultyCalls(mode)))
		if mode == "sends-a-million-findings" {
			options = append(options, grpc.ChainStreamInterceptor(sendFindings))
		}
		return grpc.NewServer(append(options, server.Options()...)...)
	}
	plugin.Serve(config)
}

// sendFindings sends a million empty findings in one message.
func sendFindings(_ any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
	findings, one := make([]*sdk.Finding, 1_000_000), &sdk.Finding{}
	for i := range findings {
		findings[i] = one
	}
	return stream.SendMsg(&pb.FindingsChunk{Findings: findings})
}

func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// faultyCalls returns invalid results for the calls that every plugin has, by mode.
func faultyCalls(mode string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		switch {
		case mode == "not-serving" && strings.HasSuffix(info.FullMethod, "/CheckHealth"):
			return &pb.Health{}, nil
		case mode == "degraded" && strings.HasSuffix(info.FullMethod, "/CheckHealth"):
			return &pb.Health{State: pb.HealthState_HEALTH_STATE_DEGRADED, Message: "the cache is cold"}, nil
		case mode == "unavailable" && strings.HasSuffix(info.FullMethod, "/Translate"):
			return nil, status.Error(codes.Unavailable, "the table is broken")
		case mode == "deaf" && strings.HasSuffix(info.FullMethod, "/Describe"):
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return handle(ctx, req)
	}
}
