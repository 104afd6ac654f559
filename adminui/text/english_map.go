package text

// Texts of maps.
const (
	MapTitle  = "Path of the rider"
	MapOne    = "One location, received at %s."
	MapPath   = "%d locations from %s to %s, %s in all."
	MapAway   = "The last is %s %s of the first."
	MapNorth  = "N"
	North     = "north"
	NorthEast = "northeast"
	East      = "east"
	SouthEast = "southeast"
	South     = "south"
	SouthWest = "southwest"
	West      = "west"
	NorthWest = "northwest"

	RiderSentAt = "Location last sent"
	RiderUnsent = "not sent to the platform yet"
)
