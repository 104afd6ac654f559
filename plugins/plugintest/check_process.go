package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

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

// checkLogs sends every request with a marker in all fields for personal data and tokens. The log must not contain
// it.
func checkLogs(ctx context.Context, s *session) error {
	for _, q := range s.requests {
		q.Message = proto.CloneOf(q.Message)
		if call := callOf(q.Message); call != nil {
			call.IdempotencyKey = canary
		}
		switch m := q.Message.(type) {
		case *pb.TranslateRequest:
			addCanary(m.GetRequest())
		case *pb.InterpretCallbackRequest:
			addCanary(m.GetRequest())
		case *pb.InterpretRequest:
			m.Response = &pb.Response{Status: 200, Body: []byte(`{"masked_phone":"` + canary + `"}`)}
		case *pb.RiderStatusRequest:
			m.RiderName, m.RiderPhoneNumber = canary, canary
		case *pb.ActionRequest:
			m.Phone = canary
		}
		_, _ = q.Send(ctx, s.Client) // only the log matters
	}
	if at := bytes.Index(s.Log(), []byte(canary)); at >= 0 {
		return fmt.Errorf("the log repeats the request: %s", s.Log()[max(0, at-200):at])
	}
	return checkLogFormat(s.Log())
}

func addCanary(request *pb.InboundRequest) {
	if request.Headers == nil {
		request.Headers = map[string]string{}
	}
	request.Headers["x-extra"] = canary
	request.Body = append([]byte(`{"token":"`+canary+`"} `), request.GetBody()...)
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
