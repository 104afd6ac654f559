package sdk

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of the body of a plugin's own response to an inbound request, in bytes.
const (
	MaxReply      = 16 << 10
	MaxServedMenu = 8 << 20  // of a request that fetches a menu
	searchedReply = 64 << 10 // in which stacks are looked for
)

// The allowed parts of a reply. A reply is never a page, because a browser would run it on the hub's domain.
var (
	storedStatuses  = []uint32{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}
	ignoredStatuses = append(slices.Clone(storedStatuses), http.StatusBadRequest, http.StatusForbidden,
		http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity)
	replyHeaders = []string{"Content-Type", "Content-Language", "Cache-Control"}
	replyTypes   = []string{"application/json", "application/problem+json", "application/xml", "text/xml",
		"application/soap+xml", "application/x-www-form-urlencoded", "text/plain", "text/csv"}
)

// stackMark matches what a stack or a panic has in any text.
var stackMark = regexp.MustCompile(`goroutine \d+ \[|panic: |Traceback \(most recent|runtime error|` +
	`\.(go|py|rs|java|js):\d|File "[^"]*", line \d|\s0x[0-9a-f]{8,}`)

// CheckReply returns an error that lists why the hub does not send the reply in a result. A result without a reply is
// valid.
func CheckReply(answer proto.Message) error {
	var reply *pb.InboundReply
	statuses := storedStatuses
	switch a := answer.(type) {
	case *Translation:
		reply = a.GetReply()
		if a.GetIgnored() != "" {
			statuses = ignoredStatuses
		}
	case *ActionOutcome:
		reply = a.GetReply()
	}
	if reply == nil {
		return nil
	}
	c := &validation{}
	c.reply(reply, statuses, MaxReply)
	return c.err()
}

// reply checks a plugin's own response, whose body has at most limit bytes.
func (c *validation) reply(reply *pb.InboundReply, statuses []uint32, limit int) {
	c.check(slices.Contains(statuses, reply.GetStatus()), "reply: status %d: must be one of %v", reply.GetStatus(),
		statuses)
	for name, value := range reply.GetHeaders() {
		c.check(slices.Contains(replyHeaders, http.CanonicalHeaderKey(name)), "reply: header %q: must be one of %v",
			name, replyHeaders)
		c.check(httpguts.ValidHeaderFieldValue(value), "reply: header %s has a control character", name)
		if http.CanonicalHeaderKey(name) == "Content-Type" {
			media, _, err := mime.ParseMediaType(value)
			c.check(err == nil && slices.Contains(replyTypes, media), "reply: Content-Type %q: must be one of %v",
				value, replyTypes)
		}
	}
	c.check(len(reply.GetBody()) <= limit, "reply: the body has %d bytes, above the limit of %d",
		len(reply.GetBody()), limit)
	c.check(reply.GetStatus() != http.StatusNoContent || len(reply.GetBody()) == 0,
		"reply: status 204 has no body")
	searched := reply.GetBody()[:min(len(reply.GetBody()), searchedReply)]
	c.check(!stackMark.Match(searched), "reply: the body has a stack or a source position")
	c.check(reply.GetOrderIdMark() == "" || strings.Count(string(reply.GetBody()), reply.GetOrderIdMark()) == 1,
		"reply: order_id_mark %q: must be in the body once", reply.GetOrderIdMark())
}

// Reply returns a plugin's own response to an inbound request. Set it as the Reply of a Translation or an
// ActionOutcome.
func Reply(status int, contentType string, body []byte) *InboundReply {
	reply := &InboundReply{Status: uint32(status), Body: body}
	if contentType != "" {
		reply.Headers = map[string]string{"Content-Type": contentType}
	}
	return reply
}

// JSONReply returns a Reply with a value as JSON. It panics if the value is no JSON, as the SDK then reports a fault.
func JSONReply(status int, value any) *InboundReply {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Errorf("the reply is no JSON: %w", err))
	}
	return Reply(status, "application/json", body)
}

// XMLReply returns a Reply with a value as XML. It panics if the value is no XML, as the SDK then reports a fault.
func XMLReply(status int, value any) *InboundReply {
	body, err := xml.Marshal(value)
	if err != nil {
		panic(fmt.Errorf("the reply is no XML: %w", err))
	}
	return Reply(status, "application/xml; charset=utf-8", append([]byte(xml.Header), body...))
}
