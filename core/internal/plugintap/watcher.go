package plugintap

import (
	"encoding/json"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Watcher sends the calls of a hub's plugins to `servery plugin dev` (pluginhost.Watcher).
type Watcher struct {
	Dir string // of the plugins
	Log *slog.Logger
}

// Watch connects to the command that listens for the plugin, if there is one.
func (w Watcher) Watch(id string) pluginhost.Watch {
	conn, err := dial(w.Dir, id)
	if err != nil {
		w.Log.Debug("servery plugin dev does not run", "plugin", id, "error", err)
		return nil
	}
	if conn == nil {
		return nil
	}
	w.Log.Warn("servery plugin dev shows the calls of the plugin", "plugin", id)
	s := &stream{plugin: id, conn: conn, records: make(chan Record, 1000)}
	s.done.Go(s.send)
	return s
}

// stream sends the records of one instance.
type stream struct {
	plugin string
	conn   net.Conn
	done   sync.WaitGroup

	mu      sync.Mutex
	records chan Record
	lost    int
	closed  bool

	failed atomic.Bool // the command has ended
}

// send sends records until the stream is closed. After an error it drops them.
func (s *stream) send() {
	encoder := json.NewEncoder(s.conn)
	for record := range s.records {
		if s.failed.Load() {
			continue
		}
		_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if encoder.Encode(record) != nil {
			s.failed.Store(true)
			_ = s.conn.Close()
		}
	}
	_ = s.conn.Close()
}

// add queues a record. It drops one that finds the queue full.
func (s *stream) add(record Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	record.Plugin, record.Lost = s.plugin, s.lost
	select {
	case s.records <- record:
		s.lost = 0
	default:
		s.lost++
	}
}

// messages are the messages of a call so far, as masked JSON.
type messages struct{ request, response []byte }

// maxMessages bounds the text of the messages in one direction. A menu can be large.
const maxMessages = 256 << 10

// Sent keeps a message, masked.
func (s *stream) Sent(call *pluginhost.WatchedCall, reply bool, message proto.Message) {
	if s.failed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock() // both directions of a stream can send at the same time
	kept, _ := call.Detail.(*messages)
	if kept == nil {
		kept = &messages{}
		call.Detail = kept
	}
	to := &kept.request
	if reply {
		to = &kept.response
	}
	if len(*to) >= maxMessages {
		return
	}
	text, err := sdk.ToJSON(message)
	if err != nil {
		return
	}
	if len(*to) > 0 {
		*to = append(*to, '\n')
	}
	*to = append(*to, MaskJSON(text)...)
}

// Ended sends a call.
func (s *stream) Ended(call *pluginhost.WatchedCall) {
	s.mu.Lock()
	kept, _ := call.Detail.(*messages)
	if kept == nil {
		kept = &messages{}
	}
	record := Record{At: call.Began, Method: call.Method, Took: call.Took, Outcome: "ok",
		Request: string(kept.request), Response: string(kept.response)}
	s.mu.Unlock()
	if call.Err != nil {
		record.Outcome = sdk.MaskPersonal(call.Err.Error())
	}
	s.add(record)
}

// Logged sends a line of the log.
func (s *stream) Logged(line string) { s.add(Record{At: time.Now(), Line: line}) }

// Faulted sends the text of a fault.
func (s *stream) Faulted(text string) { s.add(Record{At: time.Now(), Fault: text}) }

// Close sends the queued records and closes the connection.
func (s *stream) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.records)
	}
	s.mu.Unlock()
	s.done.Wait()
}
