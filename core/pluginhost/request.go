package pluginhost

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Request identifies a request to a build of a plugin. All retries of a request are equal, on every replica.
type Request struct {
	Plugin   string          `json:"plugin"`
	Build    string          `json:"build"` // SHA-256 of the manifest
	Call     string          `json:"call"`  // such as Menu.Render
	Business core.BusinessID `json:"business"`
	Platform string          `json:"platform"`
	ID       string          `json:"request"` // the subject's, or a digest of the content
}

// SetAside is a request that ended the plugin's process twice. The plugin is not called with it again, until an
// operator retries it or another build runs.
type SetAside struct {
	Request
	Version string
	Store   string // ref_id of the store that it is about; "": none
	About   string // for people, such as order 12
	Fault   string // how the process ended
	At      time.Time
}

// request is a call to a plugin, with what identifies it.
type request struct {
	call    string // such as Menu.CheckItems
	subject Subject
	content func() []proto.Message // identifies the request if the subject has no id
	cause   func() []proto.Message // identifies what a retry repeats with another content; nil: content
}

// newRequest returns a request with the given content.
func newRequest(call string, s Subject, content ...proto.Message) request {
	return request{call: call, subject: s, content: func() []proto.Message { return content }}
}

// volatileFields are the fields of a content that can differ between retries.
var volatileFields = []protoreflect.Name{"call", "received_at", "headers", "polled_at"}

// identify returns what identifies the request to a build.
func (r request) identify(p installedPlugin) Request {
	id := Request{Plugin: p.manifest.ID, Build: p.manifestDigest, Call: r.call, Business: r.subject.Business,
		Platform: r.subject.Platform, ID: r.subject.Request}
	if id.ID != "" {
		return id
	}
	sum := sha256.New()
	sum.Write(r.subject.Settings)
	for _, message := range r.content() {
		message = proto.Clone(message)
		fields := message.ProtoReflect().Descriptor().Fields()
		for _, name := range volatileFields {
			if field := fields.ByName(name); field != nil {
				message.ProtoReflect().Clear(field)
			}
		}
		text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message) // the call reports an invalid one
		_, _ = fmt.Fprintf(sum, "%d\n%s", len(text), text)
	}
	id.ID = fmt.Sprintf("%x", sum.Sum(nil)[:16])
	return id
}

// inboundContent returns what identifies an inbound request: all but what differs when the aggregator resends it, such
// as the timestamp in its query.
func (p Plugin) inboundContent(r *sdk.InboundRequest) *sdk.InboundRequest {
	content := &sdk.InboundRequest{Kind: r.GetKind(), Query: r.GetQuery(), Body: r.GetBody()}
	if len(content.Query) == 0 {
		return content
	}
	for _, in := range p.Description().GetInbound() {
		if in.GetKind() == r.GetKind() && in.GetTimestampQuery() != "" {
			content.Query = maps.Clone(content.Query)
			delete(content.Query, in.GetTimestampQuery())
		}
	}
	return content
}

// maxNamedItems bounds the items that a description names.
const maxNamedItems = 5

// about describes the subject of a request for people.
func (r request) about() string {
	if r.call != checkItemsCall {
		return r.subject.About
	}
	var names []string
	items := 0
	for _, message := range r.content() {
		if item, ok := message.(*sdk.Item); ok {
			if items++; items <= maxNamedItems {
				names = append(names, item.GetRefId())
			}
		}
	}
	text := "items " + strings.Join(names, ", ")
	if more := items - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if items == 0 {
		text = "categories, option groups or stores"
	}
	return sdk.Truncate(text, maxFaultText)
}

// lostCall is a call that was under way when the plugin's process ended.
type lostCall struct {
	request Request
	cause   Request // the same for repetitions with another content
	store   string
	about   string
}

// lostCall returns the call to a plugin that the request makes.
func (r request) lostCall(p installedPlugin) lostCall {
	lost := lostCall{r.identify(p), Request{}, r.subject.Store, r.about()}
	if lost.cause = lost.request; r.cause != nil {
		lost.cause = request{call: r.call, subject: r.subject, content: r.cause}.identify(p)
	}
	return lost
}

// abandonedCall is a call that ended without a reply, such as one that timed out. The plugin may still process it.
type abandonedCall struct {
	lostCall
	at time.Time
}

// Bounds of the calls that are recorded for the end of a process.
const (
	maxLostCalls  = 64 // of each kind
	abandonedTime = time.Minute
)

// recordLoss records that a call was lost with the process, which gets no further calls and is ended. It returns nil
// if the hub ended the process on purpose. alone reports whether the plugin processed no other request.
func (i *instance) recordLoss(r request, now time.Time) (lost *lostCall, alone bool) {
	call := r.lostCall(i.installed)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.retired {
		return nil, false
	}
	if len(i.lost) == 0 {
		i.draining, i.lostTogether = true, i.calls
	}
	if len(i.lost) < maxLostCalls {
		i.lost = append(i.lost, call)
	}
	select {
	case i.broken <- struct{}{}:
	default:
	}
	others := slices.ContainsFunc(i.abandoned, func(c abandonedCall) bool {
		return c.request != call.request && now.Sub(c.at) < abandonedTime
	})
	return &call, i.lostTogether == 1 && !others
}

// recordAbandoned records that a call ended without a reply.
func (i *instance) recordAbandoned(r request, now time.Time) {
	call := r.lostCall(i.installed)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.abandoned = slices.DeleteFunc(i.abandoned, func(c abandonedCall) bool {
		return c.request == call.request || now.Sub(c.at) >= abandonedTime
	})
	i.abandoned = append(i.abandoned[max(0, len(i.abandoned)+1-maxLostCalls):], abandonedCall{call, now})
}

// hasAbandoned reports whether a call ended without a reply.
func (i *instance) hasAbandoned() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.abandoned) > 0
}

// forgetAbandoned removes the abandoned calls of a request that the plugin has replied to since.
func (i *instance) forgetAbandoned(request Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.abandoned = slices.DeleteFunc(i.abandoned, func(c abandonedCall) bool { return c.request == request })
}

// retire marks that the hub ends the process on purpose, so that lost calls are not to blame.
func (i *instance) retire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.retired = true
}

// lostCalls returns the calls that were lost with the process, once all have ended. It also returns the requests that
// were abandoned shortly before.
func (i *instance) lostCalls(now time.Time) (lost, abandoned []lostCall) {
	late := time.NewTimer(lossTimeout)
	defer late.Stop()
	select {
	case <-i.startDraining():
	case <-late.C:
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, call := range i.abandoned {
		known := slices.ContainsFunc(i.lost, func(c lostCall) bool { return c.request == call.request })
		if !known && now.Sub(call.at) < abandonedTime {
			abandoned = append(abandoned, call.lostCall)
		}
	}
	return slices.Clone(i.lost), abandoned
}

// closedConnection is the end of a process that the hub killed because it had closed its connection.
const closedConnection = "it closed its connection"

// endReason describes how the process ended. The connection can end shortly before the process.
func (i *instance) endReason() string {
	late := time.NewTimer(lossTimeout)
	defer late.Stop()
	select {
	case <-i.process.ended:
		i.mu.Lock()
		reason := i.killedFor
		i.mu.Unlock()
		if reason == "" {
			reason = i.process.exitReason()
		}
		return sdk.Truncate(sdk.MaskPersonal(reason), maxFaultText)
	case <-late.C:
	}
	return closedConnection
}

// lossTimeout bounds the wait for the calls of an ended process, whose connection is closed.
const lossTimeout = 5 * time.Second
