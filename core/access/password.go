package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The cost of a password hash (OWASP Password Storage Cheat Sheet, argon2id).
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonKey     = 32
)

// hashSlots bounds concurrent password hashes, because each needs a processor and 19 MiB.
var hashSlots = make(chan struct{}, max(1, min(4, runtime.GOMAXPROCS(0)/2)))

// The length of a password, in characters.
const (
	MinPassword = 12
	MaxPassword = 200
)

func checkPassword(password string) error {
	if n := utf8.RuneCountInString(password); n < MinPassword || n > MaxPassword {
		return ErrPassword
	}
	return nil
}

// argonHash returns the slow hash of a password.
func argonHash(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case hashSlots <- struct{}{}:
		defer func() { <-hashSlots }()
		return argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey), nil
	case <-ctx.Done():
		return nil, ErrBusy
	}
}

// hashPassword returns a password's hash for storage, in the PHC string format.
func hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	key, err := argonHash(ctx, password, salt)
	if err != nil {
		return "", err
	}
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		encode(salt), encode(key)), nil
}

// dummyHash is a hash that no password matches. A comparison with it takes the same time as with a real one, so the
// response time does not reveal whether an account exists.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// passwordMatches reports whether the stored hash matches the password.
func passwordMatches(ctx context.Context, stored, password string) (bool, error) {
	known := stored != "" && len(password) <= 4*MaxPassword
	if !known {
		stored, password = dummyHash, ""
	}
	parts := strings.Split(stored, "$")
	if len(parts) != 6 {
		return false, fmt.Errorf("a stored password is malformed")
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, fmt.Errorf("reading a stored password: %w", err)
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return false, fmt.Errorf("reading a stored password: %w", err)
	}
	got, err := argonHash(ctx, password, salt)
	return known && subtle.ConstantTimeCompare(got, want) == 1, err
}
