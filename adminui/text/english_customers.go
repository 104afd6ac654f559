package text

// Texts of the search for customers, and of their personal data.
const (
	Customers         = "Customers"
	CustomersNote     = "Find the orders of a person, give them what is stored about them, or erase it."
	CustomerSearch    = "Search for a customer"
	CustomerQuery     = "Phone number, email address, full name or last name"
	CustomerQueryHint = "+1 415 555 0142"
	CustomerSearchSay = "The audit trail records the search and your reason, not the text."
	CustomerIn        = "In business"

	CustomerByPhone = "Phone number"
	CustomerByEmail = "Email address"
	CustomerByName  = "Name"
	CustomerBy      = "Customer by"
	CustomerOrders  = "Orders of a customer"
	CustomerData    = "Personal data"
	CustomerName    = "Several people may have this name. Open the personal data of an order, " +
		"or search by phone number or email address, to export or erase it."
	CustomerNone     = "No orders of this customer"
	CustomerNoneText = "A phone number, an email address or a name must be whole. Erased orders are not found."

	CustomerErased     = "Erased earlier"
	CustomerUnfinished = "Not finished"
	CustomerAtLeast    = "at least %s"

	CustomerExport    = "Export as JSON"
	CustomerExportSay = "Downloads the orders with their events and calls, and where they were sent. " +
		"The file has at most %s orders, the newest."
	CustomerErase    = "Erase personal data"
	CustomerEraseSay = "Erases names, contact details, notes and locations of %s, %s and %s. " +
		"This cannot be undone. Amounts, items, ids and states remain."
	CustomerEraseMany = "Erases names, contact details, notes and locations of more than %s, with %s and %s of " +
		"these. An aggregator may use one contact for many customers. This cannot be undone. Amounts, items, ids and " +
		"states remain."
	CustomerEraseWaits = "Not finished yet: %s. Each is erased once its deliveries and calls have ended. " +
		"Enable a disabled webhook, or resend, to end them sooner."
	CustomerEraseChanged = "There were %s, and now there are %s. Check the numbers, and repeat the action."
	CustomerEraseNone    = "The personal data of these orders was erased. " +
		"To erase later data, open the personal data of an order."
	CustomerEraseAsked = "Erasing personal data. The list shows how far it is."
	CustomerCall       = "1 call"
	CustomerCalls      = "%s calls"

	Erasures         = "Erasures"
	NoErasuresTitle  = "No erasures"
	NoErasuresText   = "Requests to erase the personal data of a customer appear here."
	ErasureAsked     = "Requested"
	ErasureDone      = "Done"
	ErasureRunning   = "Running"
	ErasureWaiting   = "Waiting"
	ErasureWaitsNote = "%s left"
	ErasureOrders    = "Orders erased"

	KeepPersonalData    = "Retention of personal data"
	KeepPersonalDataAct = "Change the retention"
	KeepPersonalDataOff = "as long as the orders"
	KeepPersonalDataOne = "1 day"
	KeepPersonalDataAll = "%s days"
	KeepPersonalDataSay = "After this time names, contact details, notes and locations are erased. " +
		"This cannot be undone."
	KeepPersonalDataIn = "Days, or off: as long as the orders"
)
