// Package plugintap passes the calls of a plugin from a hub to `servery plugin dev` on the same machine.
//
// The command listens on a loopback address and writes it, with a token, into the directory of the plugin. The hub
// reads that file when an instance of the plugin starts. A user who can write there can also replace the plugin. The
// hub masks personal values before it sends a call.
package plugintap

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// fileName is the file with the address, in the directory of the plugin.
const fileName = ".dev.json"

const (
	dialTimeout  = time.Second
	writeTimeout = 5 * time.Second
)

// target is the content of the file.
type target struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

// Record is a call of a plugin, a line of its log, or a fault.
type Record struct {
	Plugin   string        `json:"plugin"`
	At       time.Time     `json:"at"`
	Method   string        `json:"method,omitzero"` // such as Orders.Translate; "" for a line or a fault
	Took     time.Duration `json:"took,omitzero"`
	Outcome  string        `json:"outcome,omitzero"`  // ok, or code and message of the error
	Request  string        `json:"request,omitzero"`  // JSON, masked
	Response string        `json:"response,omitzero"` // JSON, masked
	Line     string        `json:"line,omitzero"`
	Fault    string        `json:"fault,omitzero"` // that the hub recorded
	Lost     int           `json:"lost,omitzero"`  // records before this one that were dropped
}

// Listener receives the records of one plugin.
type Listener struct {
	Records <-chan Record

	plugin   string
	file     string
	token    string
	listener net.Listener
	records  chan Record
	done     sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]bool
	closed   bool
}

// Listen listens for the hubs that run a plugin from a directory of plugins.
func Listen(dir, plugin string) (*Listener, error) {
	into := filepath.Join(dir, plugin)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	records := make(chan Record, 100)
	l := &Listener{Records: records, plugin: plugin, file: filepath.Join(into, fileName), token: rand.Text(),
		listener: listener, records: records, conns: map[net.Conn]bool{}}
	text, err := json.Marshal(target{listener.Addr().String(), l.token})
	if err == nil {
		err = os.WriteFile(l.file, text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	l.done.Go(l.accept)
	return l, nil
}

func (l *Listener) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			_ = conn.Close()
			return
		}
		l.conns[conn] = true
		l.mu.Unlock()
		l.done.Go(func() { l.read(conn) })
	}
}

// read passes on the records of one hub.
func (l *Listener) read(conn net.Conn) {
	defer func() {
		l.mu.Lock()
		delete(l.conns, conn)
		l.mu.Unlock()
		_ = conn.Close()
	}()
	decoder := json.NewDecoder(conn)
	var hello target
	_ = conn.SetReadDeadline(time.Now().Add(writeTimeout))
	if decoder.Decode(&hello) != nil || subtle.ConstantTimeCompare([]byte(hello.Token), []byte(l.token)) != 1 {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	for {
		var record Record
		if decoder.Decode(&record) != nil {
			return
		}
		if record.Plugin == l.plugin {
			l.records <- record
		}
	}
}

// Close stops listening and closes Records. It deletes the file, and the directory if that is empty. Records must be
// read until it is closed.
func (l *Listener) Close() {
	_ = os.Remove(l.file)
	_ = os.Remove(filepath.Dir(l.file)) // only if it is empty
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.done.Wait()
	close(l.records)
}

// dial connects to the command that listens for a plugin, or returns nil if there is none.
func dial(dir, plugin string) (net.Conn, error) {
	text, err := os.ReadFile(filepath.Join(dir, plugin, fileName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var to target
	if err == nil {
		err = json.Unmarshal(text, &to)
	}
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddrPort(to.Address)
	if err != nil || !address.Addr().IsLoopback() {
		return nil, fmt.Errorf("%s has no loopback address", fileName)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := json.NewEncoder(conn).Encode(to); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
