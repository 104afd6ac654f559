package adminui_test

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core/access"
)

func (f *fake) UserByEmail(_ context.Context, email string) (access.User, error) {
	for _, u := range f.users {
		if u.Email == email {
			return u, nil
		}
	}
	return access.User{}, notFound()
}

func (f *fake) CreateUser(_ context.Context, user access.User, _ access.Change) (access.User, error) {
	return user, nil
}

func (f *fake) ChangeUser(_ context.Context, id int64, decide func(*access.User) (access.Change, error)) error {
	for i := range f.users {
		if f.users[i].ID == id {
			_, err := decide(&f.users[i])
			return err
		}
	}
	return notFound()
}

func (f *fake) SessionUser(ctx context.Context, hash []byte) (access.Session, access.User, error) {
	f.mu.Lock()
	user, found := f.sessions[string(hash)]
	f.mu.Unlock()
	if !found {
		return access.Session{}, access.User{}, notFound()
	}
	u, err := f.UserByID(ctx, user)
	return access.Session{Hash: hash, User: user, CreatedAt: noon, SeenAt: noon}, u, err
}

func (f *fake) SessionUsers(ctx context.Context, hashes [][]byte) (list []access.UserSession, err error) {
	for _, hash := range hashes {
		if session, user, err := f.SessionUser(ctx, hash); err == nil {
			list = append(list, access.UserSession{Session: session, User: user})
		}
	}
	return list, nil
}

func (f *fake) StartSession(_ context.Context, s access.Session, instead []byte, _ access.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, string(instead))
	f.sessions[string(s.Hash)] = s.User
	return nil
}

func (f *fake) TouchSession(context.Context, []byte, int64, time.Time) error { return nil }
func (f *fake) EndSession(_ context.Context, hash []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, string(hash))
	return nil
}
func (f *fake) EndSessions(context.Context, int64, []byte) error           { return nil }
func (f *fake) CreateLink(context.Context, []byte, int64, time.Time) error { return nil }

func (f *fake) LinkUser(context.Context, []byte, time.Time, bool) (access.User, error) {
	return f.users[0], f.broken
}

func (f *fake) CountAttempt(context.Context, []access.Subject, time.Time, time.Time) (bool, error) {
	return true, nil
}

func (f *fake) ForgetAttempts(context.Context, string, string, time.Time) error { return nil }
