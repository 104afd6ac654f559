// Package customer finds the orders of a person by keyed hashes, and removes personal data from stored JSON. It stores
// no name, telephone number or email address.
package customer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/servery-hub/servery/core"
)

// Kind is what identifies a customer.
type Kind string

// The kinds. An order identifies its customer without a hash.
const (
	Phone Kind = "phone"
	Email Kind = "email"
	Name  Kind = "name"
	Order Kind = "order"
)

// Key is the secret of a business that keys its hashes. Without it, a thief of the database cannot try telephone
// numbers against them.
type Key []byte

// NewKey returns a random key.
func NewKey() Key {
	key := make(Key, 32)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return key
}

// KeyAssociatedData returns the associated data of a business's sealed key.
func KeyAssociatedData(business core.BusinessID) string {
	return fmt.Sprintf("businesses/%d/customer_key", business)
}

// hash returns 64 bits of the HMAC-SHA256 of a normalised text. The kind is part of it.
func (k Key) hash(kind Kind, text string) int64 {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(kind))
	mac.Write([]byte{0})
	mac.Write([]byte(text))
	return int64(binary.BigEndian.Uint64(mac.Sum(nil)))
}

// Index computes the hashes of a business. Without a key there are none.
type Index struct {
	Key     Key
	Country string // ISO 3166, of telephone numbers without a country calling code
}

// Hashes returns the hashes of a customer: of the telephone number, the email address, the name, and the last word of
// the name. Unknown values have none.
func (x Index) Hashes(name, email, phone string) []int64 {
	if len(x.Key) == 0 {
		return nil
	}
	hashes := make([]int64, 0, 4)
	add := func(kind Kind, text string) {
		if text == "" {
			return
		}
		if hash := x.Key.hash(kind, text); !slices.Contains(hashes, hash) {
			hashes = append(hashes, hash)
		}
	}
	add(Phone, NormalizePhone(x.Country, phone))
	add(Email, NormalizeEmail(email))
	full := NormalizeName(name)
	add(Name, full)
	add(Name, full[strings.LastIndexByte(full, ' ')+1:])
	return hashes
}

// Array returns Hashes in the form of a PostgreSQL array. Without a key it is empty.
func (x Index) Array(name, email, phone string) string {
	if len(x.Key) == 0 {
		return ""
	}
	text := []byte{'{'}
	for i, hash := range x.Hashes(name, email, phone) {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, hash, 10)
	}
	return string(append(text, '}'))
}

// ArrayOfOrder returns Array for the customer of a placed order. A body that cannot be read has none.
func (x Index) ArrayOfOrder(placed []byte) string {
	var body struct {
		Customer Identity `json:"customer"`
	}
	_ = json.Unmarshal(placed, &body)
	return x.Array(body.Customer.Name, body.Customer.Email, body.Customer.Phone)
}

// maxText bounds the text of a search in bytes.
const maxText = 300

// Search returns the customer that a text names: an email address, a telephone number or a name. It returns Invalid if
// the text is none of them.
func (x Index) Search(text string) (Subject, error) {
	if len(x.Key) == 0 {
		return Subject{}, core.Errorf(core.Unavailable, "the key of the customer index cannot be opened")
	}
	text = strings.TrimSpace(text)
	kind, normalised := Name, NormalizeName(text)
	switch {
	case len(text) > maxText:
		normalised = ""
	case strings.Contains(text, "@"):
		kind, normalised = Email, NormalizeEmail(text)
	case isDialled(text):
		kind, normalised = Phone, NormalizePhone(x.Country, text)
	}
	if normalised == "" {
		return Subject{}, core.Errorf(core.Invalid,
			"enter a whole telephone number, an email address, or a name")
	}
	return Subject{Kind: kind, Hash: x.Key.hash(kind, normalised)}, nil
}

// Subject identifies a customer without personal data: by a hash, or by an order.
type Subject struct {
	Kind  Kind
	Hash  int64
	Order int64
}

// OfOrder returns the customer of an order.
func OfOrder(id int64) Subject { return Subject{Kind: Order, Order: id} }

// String returns the form that ParseSubject parses.
func (s Subject) String() string {
	if s.Kind == Order {
		return fmt.Sprintf("%s-%d", s.Kind, s.Order)
	}
	return fmt.Sprintf("%s-%016x", s.Kind, uint64(s.Hash))
}

// Object returns the name of the customer in the audit trail.
func (s Subject) Object() string {
	if s.Kind == Order {
		return fmt.Sprintf("order/%d", s.Order)
	}
	return "customer/" + s.String()
}

// IsOnePerson reports whether the subject identifies one person. A name may be that of many.
func (s Subject) IsOnePerson() bool { return s.Kind != Name }

// ParseSubject parses the form of String. It returns NotFound for any other text.
func ParseSubject(text string) (Subject, error) {
	kind, value, _ := strings.Cut(text, "-")
	s := Subject{Kind: Kind(kind)}
	hash, err := strconv.ParseUint(value, 16, 64)
	switch s.Kind {
	case Phone, Email, Name:
		s.Hash = int64(hash)
	case Order:
		s.Order, err = strconv.ParseInt(value, 10, 64)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil || s.String() != text {
		return Subject{}, core.Errorf(core.NotFound, "there is no such customer")
	}
	return s, nil
}

// NormalizeEmail returns an email address in lower case. It returns "" for a text that is no address.
func NormalizeEmail(text string) string {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, '@')
	if at < 1 || at == len(text)-1 || strings.ContainsFunc(text, unicode.IsSpace) {
		return ""
	}
	if isASCII(text) {
		return strings.ToLower(text)
	}
	return fold(text)
}

// NormalizeName returns the words of a name, without case and accents, separated by single spaces.
func NormalizeName(text string) string {
	if isASCII(text) {
		text = strings.ToLower(text)
	} else {
		text = fold(text)
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// fold folds case and compatibility forms, and removes accents. Marks of other scripts remain: they are vowels there.
func fold(text string) string {
	decomposed := norm.NFKD.String(cases.Fold().String(norm.NFKC.String(text)))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36f { // combining diacritical marks
			return -1
		}
		return r
	}, decomposed))
}
