package console

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Bounds of one request that searches texts. A search continues with the next request.
const (
	MaxSearchText  = 200  // bytes of the text
	MaxSearchRows  = 5000 // rows whose texts are read
	MaxSearchTime  = 600 * time.Millisecond
	firstBatchRows = 20 // few, so that slow rows make progress too
	maxBatchRows   = 500
)

// TextSearch reads the rows of a list in batches, and keeps those whose texts contain Text.
type TextSearch[R any] struct {
	Text  string       // "": any
	Where func(R) bool // that rows must also meet; nil: all do
	Limit int          // how many matching rows to find
	Now   func() time.Time
	// Next returns at most limit rows after those that it returned before.
	Next func(ctx context.Context, limit int) ([]R, error)
	// Texts calls visit for each text of the rows. The index is that of the row.
	Texts func(ctx context.Context, rows []R, visit func(index int, text []byte)) error
}

// SearchProgress is how far a search came.
type SearchProgress[R any] struct {
	Searched int  // rows of this request
	Last     R    // the last searched row, after which the next request continues
	Done     bool // no rows are left
}

// Run searches until it has found enough, or until a bound is reached. It always searches one batch, however long that
// takes.
func (s TextSearch[R]) Run(ctx context.Context) (found []R, p SearchProgress[R], err error) {
	matcher, size, start := NewTextMatcher(s.Text), firstBatchRows, s.Now()
	for {
		rows, err := s.Next(ctx, size)
		if err != nil {
			return nil, p, err
		}
		matched := make([]bool, len(rows))
		if len(rows) > 0 && s.Text != "" {
			if err := s.Texts(ctx, rows, func(index int, text []byte) {
				matched[index] = matched[index] || matcher.In(text)
			}); err != nil {
				return nil, p, err
			}
		}
		for i, row := range rows {
			p.Searched++
			p.Last = row
			if s.Text != "" && !matched[i] || s.Where != nil && !s.Where(row) {
				continue
			}
			if found = append(found, row); len(found) == s.Limit {
				return found, p, nil
			}
		}
		if p.Done = len(rows) < size; p.Done {
			return found, p, nil
		}
		elapsed := s.Now().Sub(start)
		if p.Searched >= MaxSearchRows || elapsed >= MaxSearchTime {
			return found, p, nil
		}
		size = nextBatch(size, p.Searched, elapsed)
	}
}

// nextBatch returns the size of the next batch: what the remaining time allows, at most twice the last size.
func nextBatch(size, searched int, elapsed time.Duration) int {
	size = min(2*size, maxBatchRows, MaxSearchRows-searched)
	if perRow := elapsed / time.Duration(searched); perRow > 0 {
		size = min(size, int((MaxSearchTime-elapsed)/perRow)+1)
	}
	return max(size, 1)
}

// TextMatcher finds a text in others, ignoring case.
type TextMatcher struct{ plain, escaped []byte }

// NewTextMatcher returns a TextMatcher. It finds the text also as JSON escapes it.
func NewTextMatcher(text string) TextMatcher {
	text = strings.ToLower(text)
	m := TextMatcher{plain: []byte(text)}
	if quoted, err := jsontext.AppendQuote(nil, text); err == nil {
		m.escaped = quoted[1 : len(quoted)-1]
	}
	return m
}

// In reports whether the text is in another.
func (m TextMatcher) In(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	lower := bytes.ToLower(text)
	return bytes.Contains(lower, m.plain) || len(m.escaped) > len(m.plain) && bytes.Contains(lower, m.escaped)
}

// CheckSearchText trims a text to search. It returns Invalid for one that is too long.
func CheckSearchText(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > MaxSearchText {
		return "", core.Errorf(core.Invalid, "the text to search must have at most %d bytes", MaxSearchText)
	}
	return text, nil
}
