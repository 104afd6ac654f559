package pluginhost

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Errors of plugins reach aggregators and integrators. Only this file decides what they read of them. The detail is the
// error's cause, which is for the log, the console and the faults of the plugin.

// publicError returns an error with a message for people outside of the hub, which ends with a code. The detail is its
// cause.
func publicError(code core.Code, public, text string, detail error) *core.Error {
	return &core.Error{Code: code, Message: fmt.Sprintf("%s (%s)", text, public), Cause: detail}
}

// rejection returns the error of a request that a plugin rejects. The plugin's reason is for the sender of the request.
// It is masked, and public only if it is plain.
func rejection(plugin, reason string) *core.Error {
	reason = sdk.MaskPersonal(reason)
	if isPlain(reason) {
		return core.Errorf(core.Invalid, "plugin %s: %s", plugin, reason)
	}
	return publicError(core.Invalid, "plugin_rejected", "plugin "+plugin+" rejected the request", errors.New(reason))
}

// PublicReason returns the masked reason that a plugin states for a success, or a general text if it is not plain.
func PublicReason(reason string) string {
	reason = sdk.MaskPersonal(reason)
	if reason == "" || isPlain(reason) {
		return reason
	}
	return "the plugin states a reason that the hub does not show"
}

// Bounds of a plain text, in bytes.
const (
	maxPlainText = 200
	maxPlainWord = 32
	minToken     = 8 // shortest word of letters and digits that may be a secret
	minDigits    = 12
)

// Marks of a stack or of a source position.
var (
	stackMarks = []string{"goroutine", "panic", "traceback", "runtime error", "stack"}
	sourceLine = regexp.MustCompile(`\.[A-Za-z]{1,4}:\d`)
)

// isPlain reports whether a text is one short sentence without a path, a stack, an address or a token.
func isPlain(text string) bool {
	if text == "" || len(text) > maxPlainText || sourceLine.MatchString(text) {
		return false
	}
	lower := strings.ToLower(text)
	for _, mark := range stackMarks {
		if strings.Contains(lower, mark) {
			return false
		}
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(` .,:;'"()[]_-%?!#+*`, r) {
			return false
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
	for _, word := range words {
		if len(word) > maxPlainWord || looksLikeToken(word) {
			return false
		}
	}
	return true
}

// looksLikeToken reports whether a word may be a secret or a long number.
func looksLikeToken(word string) bool {
	letters, digits := 0, 0
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits >= minDigits || digits > 0 && letters > 0 && len(word) >= minToken
}
