package text

// Texts of saved views.
const (
	Views        = "Views"
	ViewBy       = "%s (%s)"
	ViewShared   = "shared"
	SaveView     = "Save view"
	SaveViewHelp = "This saves the filters of the list for you. A range such as 24 hours stays relative."
	ShareView    = "Share view"
	ShareHelp    = "This saves the filters of the list for all users of the business."
	DeleteView   = "Delete view"
	DeleteHelp   = "This deletes the view “%s”."
	DeleteShared = "This deletes the view “%s” for all users of the business."
	ViewSaved    = "The view is saved."
	ViewDeleted  = "The view is deleted."
	ViewGone     = "This view was deleted. The list is shown without it."
	ViewInvalid  = "The filter of the view “%s” is not valid anymore. The list is shown without it."
	FilterOption = "%q is not a choice of this filter."
)
