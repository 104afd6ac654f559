// Package users shows and changes the users of the console. Only admins may use it.
package users

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// Reader reads the users of the console.
type Reader interface {
	ListUsers(ctx context.Context, after string, limit int) ([]access.User, error)
	UserByID(ctx context.Context, id int64) (access.User, error)
}

// Pages are the pages of users.
type Pages struct {
	Users    Reader
	Accounts access.Accounts
	BaseURL  string // of the hub for people, without a final slash; "": as in the request
}

// Page returns the descriptor of the pages.
func (p Pages) Page() shell.Page {
	const path = shell.UsersPath
	return shell.Page{Path: path, Label: text.Users, Object: "user",
		Routes: []shell.Route{
			shell.Get(path, access.Admin, p.List),
			shell.Post(path, access.Admin, p.Create),
			shell.Get(path+":id/", access.Admin, p.One),
			shell.Post(path+":id/", access.Admin, p.Change),
			shell.Post(path+":id/link/", access.Admin, p.Link),
		},
		Done: map[string]string{"changed": text.UserChanged}}
}

var roles = []ui.Option{{Value: string(access.Viewer), Label: text.Role_viewer},
	{Value: string(access.Support), Label: text.Role_support}, {Value: string(access.Admin), Label: text.Role_admin}}

// List shows the users.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Users.ListUsers(c.UserContext(), v.Query.Get("after"), v.Limit())
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Users, EmptyTitle: text.NoUsersTitle, EmptyText: text.NoUsersText, Columns: []ui.Column{
		{Label: text.Email, Kind: ui.Wide}, {Label: text.RoleWords}, {Label: text.Businesses}, {Label: text.State},
		{Label: text.LastSeen}, {Label: text.Created}}}
	for _, u := range found {
		state, words := stateOf(u)
		list.AddAt(u.Email, ui.LinkCell(u.Email, fmt.Sprintf("%s%d/", shell.UsersPath, u.ID)), ui.T(string(u.Role)),
			ui.T(grantText(u)), ui.StateCell(state, words), ui.TimeCell(v.At(u.SeenAt)),
			ui.TimeCell(v.At(u.CreatedAt)))
	}
	head := shell.Head{Title: text.Users,
		Buttons: []ui.Button{{Label: text.AddUser, Action: shell.UsersPath, ReasonLabel: text.Why, Fields: []ui.Filter{
			{Name: "email", Label: text.Email},
			{Name: "role", Label: text.RoleWords, Value: string(access.Support), Options: roles},
			{Name: "businesses", Label: text.Grants, Hint: "7, 12"}}}}}
	return v.ShowList(c, head, list, "after")
}

func stateOf(u access.User) (ui.State, string) {
	switch {
	case !u.DisabledAt.IsZero():
		return ui.Off, text.UserOff
	case u.Password == "" && u.SeenAt.IsZero():
		return ui.Warn, text.UserInvited
	default:
		return ui.OK, text.UserOn
	}
}

func grantText(u access.User) string {
	if u.Role == access.Admin {
		return text.GrantsAll
	}
	ids := make([]string, len(u.Businesses))
	for i, business := range u.Businesses {
		ids[i] = fmt.Sprint(business)
	}
	return strings.Join(ids, ", ")
}

// parseIDs parses a list of ids with commas.
func parseIDs(list string) ([]core.BusinessID, error) {
	var ids []core.BusinessID
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, core.Errorf(core.Invalid, text.GrantsWrong)
		}
		if !slices.Contains(ids, core.BusinessID(id)) {
			ids = append(ids, core.BusinessID(id))
		}
	}
	return ids, nil
}

// Create creates a user and shows the link for the first sign-in once.
func (p Pages) Create(c *fiber.Ctx, v *shell.PageContext) error {
	businesses, err := parseIDs(shell.Field(c, "businesses"))
	user, link := access.User{Email: shell.Field(c, "email"), Role: access.Role(shell.Field(c, "role")),
		Businesses: businesses}, ""
	if err == nil {
		user, link, err = p.Accounts.CreateUser(c.UserContext(), user, v.User.Actor(), shell.Field(c, "why"))
	}
	if err != nil {
		return v.Redisplay(c, err, shell.UsersPath, p.List)
	}
	return p.showLink(c, v, user, link)
}

func (p Pages) showLink(c *fiber.Ctx, v *shell.PageContext, user access.User, link string) error {
	base := p.BaseURL
	if base == "" {
		base = strings.Clone(c.BaseURL())
	}
	return v.Show(c, shell.Head{Title: text.NewLink, Note: user.Email,
		Parent: ui.Link{Href: shell.UsersPath, Label: text.Users},
		Causes: []ui.Cause{{State: ui.Warn, Text: text.NewLinkText}}},
		ui.Code(user.Email, base+shell.WelcomePath+"?link="+link))
}

func (p Pages) user(c *fiber.Ctx) (access.User, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return access.User{}, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Users.UserByID(c.UserContext(), id)
}

// One shows a user.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	u, err := p.user(c)
	if err != nil {
		return err
	}
	here := fmt.Sprintf("%s%d/", shell.UsersPath, u.ID)
	allowed := text.Yes
	if !u.DisabledAt.IsZero() {
		allowed = text.No
	}
	state, words := stateOf(u)
	facts := []ui.Fact{{Label: text.State, Cell: ui.StateCell(state, words)},
		{Label: text.RoleWords, Cell: ui.T(string(u.Role))}, {Label: text.Businesses, Cell: ui.T(grantText(u))},
		{Label: text.LastSeen, Cell: ui.TimeCell(v.At(u.SeenAt))},
		{Label: text.Created, Cell: ui.TimeCell(v.At(u.CreatedAt))}}
	head := shell.Head{Title: u.Email, Parent: ui.Link{Href: shell.UsersPath, Label: text.Users}, Buttons: []ui.Button{
		{Label: text.ChangeUser, Action: here, ReasonLabel: text.Why,
			Hidden: []ui.Option{{Label: "seen", Value: u.AccessVersion()}},
			Fields: []ui.Filter{{Name: "role", Label: text.RoleWords, Value: string(u.Role), Options: roles},
				{Name: "businesses", Label: text.Grants, Value: strings.TrimPrefix(grantText(u), text.GrantsAll)},
				{Name: "allowed", Label: text.SignInAllowed, Value: allowed,
					Options: []ui.Option{{Value: text.Yes, Label: text.Yes}, {Value: text.No, Label: text.No}}}}},
		{Label: text.MakeLink, Action: here + "link/", Help: text.MakeLinkSay, ReasonLabel: text.Why}}}
	return v.Show(c, head, ui.FactsOf(facts))
}

// Change sets the role, the businesses, and whether the user may sign in.
func (p Pages) Change(c *fiber.Ctx, v *shell.PageContext) error {
	u, err := p.user(c)
	if err != nil {
		return err
	}
	here := fmt.Sprintf("%s%d/", shell.UsersPath, u.ID)
	businesses, err := parseIDs(shell.Field(c, "businesses"))
	if err == nil {
		err = p.Accounts.ChangeUser(c.UserContext(), v.User, u.ID, access.UserUpdate{
			Role: access.Role(shell.Field(c, "role")), Businesses: businesses,
			Disabled: shell.Field(c, "allowed") == text.No, Seen: shell.Field(c, "seen"),
		}, shell.Field(c, "why"))
	}
	if err != nil {
		return v.Redisplay(c, err, here, p.One)
	}
	return shell.RedirectDone(c, here, "changed")
}

// Link creates a one-time link and shows it once.
func (p Pages) Link(c *fiber.Ctx, v *shell.PageContext) error {
	u, err := p.user(c)
	if err != nil {
		return err
	}
	link, err := p.Accounts.CreateLinkFor(c.UserContext(), v.User, u, shell.Field(c, "why"))
	if err != nil {
		return err
	}
	return p.showLink(c, v, u, link)
}
