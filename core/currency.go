package core

// minorDigitExceptions holds the currencies whose minor unit does not have two digits (ISO 4217).
var minorDigitExceptions = map[string]int32{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

// MinorDigits returns the number of decimal places of a currency, by its ISO 4217 code. It does not use locale data
// (CLDR), which has fewer where coins went out of use, as in Pakistan: prices there may still have them.
func MinorDigits(currency string) int32 {
	if digits, apart := minorDigitExceptions[currency]; apart {
		return digits
	}
	return 2
}
