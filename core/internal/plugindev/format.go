package plugindev

import (
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core/internal/plugintap"
)

// maxShownLines bounds the lines of a request or response.
const maxShownLines = 60

// Format describes a record for people.
func Format(r plugintap.Record) string {
	var text strings.Builder
	if r.Lost > 0 {
		fmt.Fprintf(&text, "… %d calls or log lines are missing\n", r.Lost)
	}
	at := r.At.Format("15:04:05.000")
	if r.Fault != "" {
		fmt.Fprintf(&text, "%s fault: %s\n", at, r.Fault)
		return text.String()
	}
	if r.Method == "" {
		fmt.Fprintf(&text, "%s log: %s\n", at, r.Line)
		return text.String()
	}
	fmt.Fprintf(&text, "%s %s %v %s\n", at, r.Method, r.Took.Round(10*time.Microsecond), r.Outcome)
	writeMessage(&text, "> ", r.Request)
	writeMessage(&text, "< ", r.Response)
	return text.String()
}

func writeMessage(to *strings.Builder, prefix, message string) {
	if message == "" {
		return
	}
	lines := strings.Split(message, "\n")
	for n, line := range lines {
		if n == maxShownLines {
			fmt.Fprintf(to, "  %s… %d more lines\n", prefix, len(lines)-n)
			return
		}
		fmt.Fprintf(to, "  %s%s\n", prefix, line)
	}
}
