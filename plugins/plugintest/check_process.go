package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// checkMemory checks the program's peak memory against its limit.
func checkMemory(_ context.Context, s *session) error {
	if s.memory > 0 && s.peakMemory > s.memory {
		return fmt.Errorf("it used %d MB of memory, and its manifest allows %d", s.peakMemory>>20,
			s.memory>>20)
	}
	return nil
}

// checkLogs sends every request with a marker in all fields for personal data and tokens. The log must not contain it,
// nor a phone number, a name of a person or an address of the requests.
func checkLogs(ctx context.Context, s *session) error {
	personal := map[string]string{} // field by value
	for _, q := range s.requests {
		for value, field := range personalValues(q.Message) {
			personal[value] = field
		}
		for _, message := range withCanary(q.Message) {
			_, _ = Request{q.Method, message}.Send(ctx, s.Client) // only the log matters
		}
	}
	if s.PID != 0 {
		s.log.settle(s.Client.Conn())
	}
	log := s.Log()
	if at := bytes.Index(log, []byte(canary)); at >= 0 {
		return fmt.Errorf("the log repeats the request: %s", log[max(0, at-200):at])
	}
	for _, value := range slices.Sorted(maps.Keys(personal)) {
		if bytes.Contains(log, []byte(value)) {
			return fmt.Errorf("the log repeats the value of %s of a request", personal[value])
		}
	}
	return checkLogFormat(log)
}

// withCanary returns a request with the canary in its fields for personal data and tokens. A body gets it in several
// ways: as it is with a header, with another member, and as a body that cannot be read.
func withCanary(original proto.Message) (list []proto.Message) {
	message := proto.Clone(original)
	if call := callOf(message); call != nil {
		call.IdempotencyKey = canary
	}
	switch m := message.(type) {
	case *pb.TranslateRequest:
		for _, request := range inboundWithCanary(m.GetRequest()) {
			list = append(list, &pb.TranslateRequest{Call: m.GetCall(), Request: request})
		}
		return list
	case *pb.TranslateFetchedRequest:
		for _, request := range inboundWithCanary(m.GetRequest()) {
			list = append(list, &pb.TranslateFetchedRequest{Call: m.GetCall(), Request: request,
				Response: &pb.Response{Status: 200, Body: []byte(`{"masked_phone":"` + canary + `"}`)}})
		}
		return list
	case *pb.InterpretCallbackRequest:
		for _, request := range inboundWithCanary(m.GetRequest()) {
			list = append(list, &pb.InterpretCallbackRequest{Call: m.GetCall(), Request: request})
		}
		return list
	case *pb.InterpretRequest:
		m.Response = &pb.Response{Status: 200, Body: []byte(`{"masked_phone":"` + canary + `"}`)}
	case *pb.RiderStatusRequest:
		m.RiderName, m.RiderPhoneNumber = canary, canary
	case *pb.ActionRequest:
		m.Phone = canary
	}
	return []proto.Message{message}
}

func inboundWithCanary(request *pb.InboundRequest) (list []*pb.InboundRequest) {
	bodies := [][]byte{request.GetBody(), []byte(canary)}
	if rest, object := bytes.CutPrefix(bytes.TrimSpace(request.GetBody()), []byte("{")); object {
		member := `{"token":"` + canary + `"`
		if !bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
			member += ","
		}
		bodies = append(bodies, append([]byte(member), rest...))
	} else {
		bodies = append(bodies, append(slices.Clone(request.GetBody()), "&token="+canary...))
	}
	for _, body := range bodies {
		one := proto.CloneOf(request)
		if one.Headers == nil {
			one.Headers = map[string]string{}
		}
		one.Headers["x-extra"], one.Body = canary, body
		list = append(list, one)
	}
	return list
}

// checkLogFormat checks the lines of a log. In a JSON line the message must be a string, because hosts that trust it
// would crash.
func checkLogFormat(log []byte) error {
	for _, line := range bytes.Split(log, []byte("\n")) {
		if len(line) > 64<<10 {
			return fmt.Errorf("a log line has %d bytes, above the limit of 65536", len(line))
		}
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		var entry map[string]any
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
		for _, key := range []string{"@message", "@level", "@timestamp"} {
			if value, there := entry[key]; there {
				if _, text := value.(string); !text {
					return fmt.Errorf("%s of a log line is not a string: %.200s", key, line)
				}
			}
		}
	}
	return nil
}
