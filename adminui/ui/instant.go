package ui

import (
	"fmt"
	"time"
)

// Instant is a time that is shown relative to now, in a zone.
type Instant struct {
	At, Now time.Time
	Zone    *time.Location
}

// Ago returns the distance from now, such as 12 s ago or in 3 min.
func (i Instant) Ago() string {
	d := i.Now.Sub(i.At)
	if d < 0 {
		if d > -time.Second {
			return "now"
		}
		return "in " + span(-d)
	}
	if d < time.Second {
		return "now"
	}
	return span(d) + " ago"
}

func span(d time.Duration) string {
	const day = 24 * time.Hour
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 600 && minutes%60 != 0:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	case d < 2*day:
		return fmt.Sprintf("%d h", d.Round(time.Hour)/time.Hour)
	default:
		return fmt.Sprintf("%d d", d.Round(day)/day)
	}
}

// Exact returns the time with its zone.
func (i Instant) Exact() string {
	return i.At.In(i.Zone).Format("2 Jan 2006 15:04:05 MST")
}

// Took formats a duration, such as 0.4 ms, 18 ms or 1.24 s.
func Took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	default:
		return span(d)
	}
}

// Number formats a number with thin spaces between thousands.
func Number[N ~int | ~int64](n N) string {
	digits := fmt.Sprint(int64(n))
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "\u202f" + digits[at:]
	}
	return digits
}

// Count formats a count with its noun. one is the text for 1, and many has a %s for any other number.
func Count[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, Number(n))
}
