#!/usr/bin/env python3
"""A plugin of the Servery hub in Python, as an example for languages other than Go.

It needs grpcio and protobuf, but no generated code. The messages come from
DESCRIPTOR, which make generate writes into this file, because a hub runs a copy of
a single file. The rules are the functions check_items, translate,
plan_rider_status and plan_action. The lower half is go-plugin's handshake and the
services that every plugin has.
"""

import base64
import json
import os
import sys
import tempfile
import threading
import time
import urllib.parse
import zlib
from concurrent import futures
from datetime import datetime, timezone

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
except ImportError as missing:
    sys.exit(f"this plugin needs grpcio and protobuf (Debian: python3-grpcio): {missing}")

MAX_MESSAGE = 16 << 20
MAX_MENU = 64 << 20
ORDER_PURPOSE, BEARER = 1, 2

# plugins/proto/descriptor.binpb, compressed with zlib and encoded as base64
DESCRIPTOR = """
eNrcfVtsJFmWUEW+82Smnb7tqsqy6+GK7uqpcc9Udbm6p2umm5lJ2+lydtlOz81093TPskE489qOdmREdjyqygMCpF2J1fCDWDSLQMCuQKNlYSVWQgKJ
hR9W8AO/SItggf3gA/gBaZD2A4TuKx6ZEelXdfeIL+c999xHnHvOueeee841/Osc3HSJ85w4Jw9Hpn9oWA+fP3rY103zwcixPRvNidoHvPbB80fq72Yg
t6abJlqA0r7vGhZx3YaypNzP4qBM60am7h3YzrCRWVLul3FQRvOQdz3bIY0sq+AF2sIlnmdYh24jt6Tcr+KgjL4Gs8aADEe2R6z+iXZMThp51nYmAn5G
Tmgnfd9xaLFR4MPKMnofCs910yduo7iUvV9Zef3BxLc9oN/14COG1bI85wSLJgvfhkoEjOqQpZNQ2BD0J/0ohiq+lhe+k3miqL+tQPkZGXmsPUKQs/Qh
EU3Z7+S2aAmqjDKaQw40YyCoBQyGyUF7gJZhThJV46jGgNGujGdlRZfC2wP0OtQC3BfGgDAClnBVAj82BmT10acPDw3vyN9/0LeHDwV5vnnk7z+MM4n7
kHHH+6P9/QL79Rj+ZDGJk0ambqVy0sJU1lN/qkBpnfQN17At9E3I0b4Y2Sor1xOWbtfUrc0rmKGheci5x8aIE5RCaQl9B0omOfA02/caWcYDd5I68vdN
wz1qOY7t4CJt0PG91TIUbd/r20Oi/pMc5OholNuINRjZhuWJ9QzK6BoUhsQ7sgdiUUWJrv9I947EarLf6AnkP/eJc9LIsUmpKV/34AcUifMlb4C+C8Uj
og+I4zbyrO0baW03ORpvLRvR2ezbAy4rVcx+ow2YcUnfIZ4muy6m0qrLEHnfuOZGSi56AkXX7/epdiixVbud1AHHwL5JsERHS1DpO2RALM/QTbdRXsre
L+MoCH2TqhAychvAppbED12PjDDHouLqO2ajwsXVd8yFJwAhNc8jzgvfgWqUludSBX9QgBydV6IWiHJTJpWbsonclItwk/jYfPCxIX8VUvmLzmo6fxVT
+Yu1nc5fpQh/LUKZyqjGKspMC9G9wVqllQhyB4ZpsnUtY/YbvQ05to9U2AxuJsxgw3aGGwYxB5hhUvYY6Y7nNqqp7LGrOx7mWHTQwx8bo0aNTYb9TpCC
mQtJwRgvz07yckRO6ueTk7cg5+nHpDGX+pU9/ZhghoQeUJocEreB2CCNRJocEhdzNLphOMR3ieaSvm0N3MZrS8r9Gq4yYJfDviIx+isK5OiXJYrRXah+
5tqWxgSHOKJ1hcJ2OQjdAhjqLzWTWIdCE9dweai/3GIAKoj2yDNsSzeZYJVwUKaCyNdX7J+ipL4L5YAJz77Hq39PgRzlxDSFcGCYhMGFQpBl+pV92/KI
5WneyUiaUhUB652MGHE88tKTuoH+Rg0oChQ2/yqWxbhUFuJSqVqQZ7yB7sFM33dc2wnIyydc41BJYDo7jsb1jlgDDmMMQ8eja8BZki9Baai/ZMOon0I1
KlOU6lwKxXCiFFkNscnyEqWcR4bUtJGUCcrqX1OgEpEmZnd6uue7hFqx2ft5HJTPwkt3gBU18rlP5VsYaRTUYhBKsgPD0k0tGCXHRqkxaFcA1d/IQAkT
d2RbLmHfxSrY9+axKKHVUB1nmMzfT5Bi2cspKjkbUckIcnSjlKxCf6N3oUh0xzSII0yLxSljYYlL+ZyvKd1rqkKZXFba621K65FDPEw+94nrUdVHTcUp
9iA15TFDQu9ByRETZd2f8i0BMl0HvU8lX267vKT+7QzMCDOxw41C9C61SCi/0RnNJG4TApUuOcEcmwrkkLiufig/XBbRe1Ag1AR1z2qqCnR0E8oOOSD0
0EPEioYAtAJXycuR4RBX0w884gTqPc9k8DVR2aR1QsvTDfiYkFFjPnUDDs43mGGq/0CBanRylJJ0v/PkmosSugoFcbwR6+6wkw2CXN8eSOFlv6OkysVJ
9V16dHxOHNp9npE/ycTZMKyBYR12BSYO2iz/ugLV6OKgW3Cjs9db62y3tG6v2Wtpezvd3dZae6PdWq9fQdcAxavXOzutuoIaMB+HbzTbW631egbdgKvx
mt3Wznp752k9i67Da/Eq3OrhT+q55SHMjk0ZLcHNjTZrqHVbH7Vwu/fJ2NQW4NoERgvjDq4r6CY0Juo+buIdOo/MZc5+/yYHdyaPcuK4dK7jX3heVP9Z
BmYxGdmORwZSyGKsrUyydu7YsDgnzSRaUaKfZ4Y1wAz3FR+yAyWQv6gSKKQpgeK5lMDyX4BK5GPp0ksme9beWR9jmqswF6vdbu3s1ZWoFDBwt9fBLa25
1mt3duqZiT7bvda2rM1ehp3+xQrcSmAnZ0CcC/oSFk5jz1N48c9BvefolksNiAvtQO9D0eHtxAZ0NwG/be3bvjUQA2DZQv2PGZiJ11H9yFhdmIuMlVfl
KY+bBt84dYSE895maGDwXefB6b1MNzNyETPjDlQc0ifGczLQdG6BZjFIUNP7io4TPy1ARS6vYVvoMeQZs4mlTbIVdsiLDkXZvII5LlqAonFo2Q4ZBE4n
CUAtqPZ1q09MPgBTMsmyvBZB27yCY83Q96BEmWlf7x8zsiZzUZOZKGsCcfMKDhqhtyF/QLz+EdMyyUfADVpPv4oh0vO/kJNGkbVREw2nmJamXy4aobVQ
vVKcaY4grnEp1uYVXHHDIu1kSCxfkxJUTu1km1i+YEvayTAs0k7YQmn+aEA1NKR2whZ2j2HRTuywiD6gxyffoTZxhbVfSlpDjhF8i2zClYBJdJc0qqkc
wEbHHI02Fi3o1uKQkckNnOSmgVyOzBPMsc9vuq2W6WakW4Z1qP4nelSKLMT4ZqmcbbPMJG+Wj+VmmWWb5a00pohtldeovai7tiW2YFGi0u1bnmEKpcIL
VOHYfXYBwBROgSscCWp66o+gEuGZV/uB6p+BPBMnulWcwXktXNfRETjHTo7AmKQ9UH9fgevBxsTGIoMvfX+KHa+y5zheqXWYiWsr9Y8VqEbZeOwkXAtO
whvjJ+FvnCIQ5zgNq1CThNeGunMsWI1rgvZgW3eOL7XfYKhG9XzyiiuJKx7h/0yU/9V/rkAtpnjO26ugsvSjcCpLr1Q27sgaHdmWPITxAj2CmXafb2/5
1J1CzHBLYOKgjfojmB2rRAtQogTy/IG09YMyPQiYtnXIK/mcQwCagYzusUlncUb31N9SoBLR6ucizSKU+0e6dRgR9BIHxFYjG9NGj6QFkTvVghD2g/od
qEZV/3nmqP5xEUqyv3N93Li+y5xN32WTFfotAD4g80gKzwODMH/k61AbENOgdOAY/IaiKoEMSYWa4Wr7vnnMJy9ckRXDXfXNY/6F70Gp77uePSSOsEqS
CLwmUHCAjFYgb3hk6DZKqbshp4xHhpijoidQ7B/pziHh91BTTIbm0PYtD0t09A7kPf0lkXdUp7XjyOgDKA8Mt09BrrjxOK1l2AC9A8WRfjIklieuPhYS
3fwMA0tUysZ92x/ZFrsBKWNRQipUDcv1HJ8pabcxwxcsCkNvwVywqlS4PGNIGrNM9OqyYl3A0T2Y4Rzi+vue7ekmu/EoY65vuwJIOYX90CTl5/jADLgm
yHsHKhyJExlx1mWgHqPkApQkYdjdRRkHZWYYcFZls5jnjTmvsincg5mRfqLvm0TTGZUbV/lMBZSTnrL8wHBHpn5C5eIaZ3kBaQ/oMCOHjHSHaAe207jO
7Q8B2rAddAuKfd8z6amtQRmdmYsc8GuKsgpQ0kRR/YsKlCRPp90wcMWciSrmeciToW6YMtiCFSif6IOBQ1xXqKgkPmlyDCxR1X+nQFEA0VUomIZFtEdi
DnlaehSAV+QsaGmF63JrwHbTrNTlvMx8fYZ3Ip3P9De6C1XX39fo9mBKr14ZV1x/f0uA6I47MizhMKE/YxtGcdqGURrbMNT/okA5kPyIT1KJ+iQXoPS5
r3MnZoaHu8gyo71j9IOQFlagUM/wzGCrZIUJqconSNUTKPIrJ1fc2abqgA5DwxIdXYciWwBjIGjA1qM9UH9XboK8xRf9lZF55KPzQItQoNxvcXM8v3kF
izJl+DIUNV5SdTFdIWnBKEp0lOTIGQQ5J7z6Yb8Dj3Iu9Cirn0BxN1SBnILSP81L7AaAy7+wjHgJ3YaK6zx3NM95Ge6IZQrqOS/bA/WfZiDPd6sbUIpt
w1lcFIbkeUz9V+yojG/V+VO36sJZturi5FZ9gR1X/fcZQM3+sWW/MMng8GL+tgfSAMukejqi1hfler3fJyOPcMqWcFBOPXIuQplqco3tePzYWaKAHt3p
mKuLommM6zj9gIPW7AGhK8DNSHYyLbLmwtIcND30AOZt39PsA7qU/WOx6pyOZVy3fa9z0KU1bO1d9CbMGtZz3TQGASoPm6kJMMdT/ygDiH05v3j8Uogb
ni6ysdNF+oVOnDj5ceLchSqj/NCwfI9dNVIEttVuc9A4/YsT9P+iCPy/FZil3Ox2Ot0vhbpLUKVyE8wqy2YFFCam/gbMcG0W4OQYTpVDBdYtAN007Rca
GRgyuqHMIK2B4XGCcj9fxJUiQU1P/Q+RD//CLkXfgWvSmteGuntMBprlD/eJI1hrXtZus8odVidNhVxoKpzbLbZsA4TeKLQI1/ltSNL14DzUo5Wd3dZO
XUHXAEWha1udLrsaHIPvNvco/FIXKP+nCLcn7zP43fVFb1Cm38iccn/ylzJQ456eL0vhJF3b84iY4SiMiBmO0JtQfUF0x7AOGUNxxt+8gisCShnp1xQl
tK4LUev6NsBId/Qh8XiInHK/iiOQ1VmoadHu1V9VoBEEM0i315d/pfSbWbkgX5ioslAhIaqcclkZKsShu4yC4VrlYmuVaBvlk22jhPDwQmJ4eOBEL57L
id4cuzsoneXuIH5zcH4//CXk/+/n4Y0E+X+uG6a+b9DT00Vjsv+zAoipwUtI86t1OiHI2SNiiUA99vs08+EmgOc7lmZb4U5WopCO1fTU38vAHN3HfmG+
8CaUxdKJMxbdlyVgYvvPn2H7LyRv/9Ps0TjNSnGaXYZX/3seFidZ7rMXXnoCyt/IQvVD17Y+Jvs9+5hYkTBAJRYG2ILqMTnRiNW3B4Z1KAJDkhzT0e6e
kRNcOSYnLdEMfQCFvqkbQ3kn/sYpHaxRZCzaoE5si+AR/g9P6eHBbtCC31dEukBfh7ppHDCH2ljw1qyEy8CtMG6yEIubjMZHFuPxkQt/CmbHRj/X5YYN
cxO0OEfSS7iU2dhSNqAosoHkWUEUl0cwO7Z6SIXbH3Y7O9rHrVWt13nW2tGetRICpRJwcPNjHviSULfa7La+9c7lIqX+4UN4fZLbB8TtO8Zounk2TUrU
OZhdZ53sy/Oy+pM8VNbDjtEMZAJfT8YYUIo+J45rBFdJsshyt2ivfduUkbmyTI9e0uHJVlRcjQnYDl1YFap9fcQ3GoNIjRSDoVWA53Zf3/dNfWpawkcB
0lPH9kc40go9gaIuXGjFVB+ZMHIODoiDJTq1F2Rqmeb2j8hQFwkKMxLcZVD0bSjLFAzp/k+6amgJHBxio8eUYSnrSv//jdTEASwx0TtQNLj9IVz/C1Ms
FImKHkHBNIYGS3dQUkbaYghYIKLvxbMSamywpBv4tQBrIgFnZJumzIpIvNO2TRNzLPXvKpCj5URNsASViATIIOsIiHnjiWPYg0Dhcb6scahUd4tQHhGH
b6gycn9EHLaRUs61LfNEGxEWUylOuBUK2+Ug9dcVmB3jOKqmDukP6XdkBXQdiral0U2WTbeEC7bFfMeLULYtTbgShSfJtoTL9R1qBJ7ITWBpKr/TXYhh
q7+iQC0GTyTi25BzfJOIPS7JwOTGpW8SzDCpAmDHe+byoiIqi7R/3zKCzAH6W/2ZApWIMKWpdO6jzUR9tHegsn+iBZFLnCiwfyJPP+gtmAu3NymQPG6s
HlYIkbwDFZdYA1cjz2UWQwkDA7UoRP0jBUpSIC/IbvOQP7JdT/pSeIFl8hDHMw6MPt03heaLgKheiRSjaaoRMF3A9wEcisGkUURjJS0Z1j3CJBeXHflT
/esKlIMKqqzFoU6GSATlBLHJJInNPOT3fcf1hFDxAlqBvNu3xUXuTOr0uhQHc1T1R1DgKu2ChI8JcDYuwOqfKAChOrrgCI+hYOu+d7QiIlWSdGWnSRE2
r2CBitag7BqHlu75Qq8kJw+LnbcrUTev4LAdegzZz154U8K3olbM5hVMsVcLPM5T/W95KPBpocdUIeki4zQ5bIp18ZQiYY47NbcwKSN1Ecoe7UTzHVNw
eokB9hyThUSYBrG88Ehe4gCeZywqhR0nrg44UHBHB2YoZelKipiRIvuYryXtQKxhM4aOx5qzlHLGrCWRUk4LPIXtwCHukcYmzyIHy7gqgPzw0I7Z53yv
/noqV0y1zENzu5Jqblfj5jadI/0W2zF+TBi1+RV8NQBSihOYD5Eis+Wb70r6bJuy1fi0X9Mnay5p+i9sQCNtvHMdIX6egfq4LKWe8dagrJuHtmN4R0Ox
+d1LsrRkR02JjMN26PtUPMQhkUcjvjGtD3kyxEGr2BLnxpY4ZIt8jC0CChSiJ6CvQ50e4VxPH45E7qk4o80GcJEWtx1FPbCdoTiaJ59xexJ1g2FGuuMA
9X8UoCiMy8QA8/ehOPKdke1KK2OKx3GXI2LZAj2BAtvZZbjnUnpbttMTLPAj5MulJP/lYxxxDQojhxwYL+Whl5fQdyOLXEylkphDwhInLUwpeWHegjnP
NomjW/3wjF5mu2s9qJDbb/SCGPhJTF4Qz8uQfq5PRJA+NYGMQ4sMNJbfWRXeJQbqkZcetUPCmfIOuFaZCcA8CXMngYFmGGleTydNwEcTHERtbMum3yzI
M8s3YAYTpHkTZoPgSoEVjQFqDwTeu5DnOnvuNFctU+OYYzMTLLARqKr0RGTQTAhmCbf3ICQGx+MxQrUAytAorZl/jpPxasSTx0lI+fpId8iABRElW/Vd
hiDPbQJfxVCLVVBGCHyBCrfIXeEDfBNmZZWkGlebNYHBqab+QRg/y3e3aU9UyI0/E9n4r0HBcF0/uFATJUou/kuLu2FqHNrlQHaP7g8Mlp8lLANZpvIj
fwedcAmdlXDRjboKBX5gZWnCZGg7J9pwX9q3HLC9TysNSzswjcMjT5i2JcPaYOVlD8rBiQctwLWPmlt7LQ3vbY1f1y3C9Ujdx5udrZa2s7e92sJ1BV2F
uUhlZ6eldTbqGXQdXouAmzufaL3WD3v17HKX2+bMKqaj4mavpXXXOrsJl4SROnYDWFfGoB283sL1zLIJEJp0dL7cKfUUN3d6Y92qcDtaubbVbtE/uLXe
2um1m1td7t6K4uDWBm51N7mnq55Z/vMwn2RzoXtwV3TX3Ott0u7Wmr12Z2dsBndgMRlttdltr9UVdBsWUhA665/UM8s/UwBNbtfodbjTbT/dafb2cEtr
bj3t4HZvc3ts8LtwKwlpc7u5pnU3m4/qSlo/EmXl3W/VM6chvftopZ5ddmBuwiSgCxC2bO2sdVi+5YTvMQFns/VDvjgJddL3uPxXFZgd28jREtzstbdb
3V5ze1fb6ODt5jhX3ITGBEa3tdbZWaf8cBduTdRut7e22hIlk9gB3lh7/Pjxt+vZ5b+lBAlqYt+nXNDeWe3s7axru3t4t9Md5/8bcHUcgbO7QskzXhUk
HSY0227/sLVez6IGzE9UtXb26rnlnytQi9kWlAclbndts7U9ZXaivvWDPS49k1WrrSamcprQa5SrYjOUTZlM5Ch9U1o+quen9EsZsYCuARqr//DjXr24
/Bsscz6+adPVlsjhksa//hbcmEQJ+UWF25PVYwyT2EXIMZ/B7JihRblYtkgRmwj5xoRmEa5P1LwKd/3/zSUFUhwR3fSOLnqF+j2or9nWgXHoOxeKbVOf
wVykA/FSwbeYz37fJEP+ikVK5DdHwQGu+h4UBTAwB5SIOZB6va/OA1o7Iv3jTUYMeengQ4ED0DvxeIIk3zzHPGM4QWyvz8b3enUGquuObsjbWnUWaqLM
ybP8Z6ESGY2K22arudXbTIzfacB8rLbbwh+1d55y2Y/VrLee4ua6zPCPV+Fmm2XWXyqS51/eS3pVbUgs/yuJ4/nHWQAW47V25FvH57sU/6YMBc2k3hhE
8y7ehgIzbeWlayM1Z1TgofcB+rpHqL1ApI89MTGEI53gCDpag5q4JGcOfvmcWmKMB8Pj91HiDp0V2J1PPGr7RmrzMGD7GzJNhF9iXUt8xemlTA95HKaj
lFKH4CkSQSaK+hRq4iUJsXDfgtKBAEzRFqINDnDVnylQFNC0+HEUuYcohzcNUqqz6S935M7/ckfkWZF89FkR9feyUN4mln8BPn0gX6dMDzbjfCferYyz
XfZ8bBcIRe5MQvH/NZf+jgLVLsX68jNY34Yc1aniTuBmSmY5YybMMNVfghom1oA4ZMB57D0oDcRjlVPeDZDvWeIAOchAzYQZqOof5iDPby1TpOw8edZJ
SZxJOTeNMCeIC5MsMp++bXl639OiMZBVAeSBfBfOvpEhgM+JeA1QlNDXoc62JsM61Iil75uEO8hKeFbCWxwce/e1Mvbu65swOzQsEUTIHa7cZVYbGhYL
2OMvswq8kdE/9kVUf43FOVG8XQZlof3LMEfxwgQJijnDMGkH6zJHguI+hqJnDJmenU0VhB7DwBITfR+qXvgchduop8YMsmSoHX1IcKwF80YbQ/JjulZz
whstymobCnxAVIfsQA988gP9hD2radretD26a9oe5ljq9yFHi+gWgOvpjsdJId7lYRBGhBvMB8UrhVVH+IlE/dNQDr5BJIkd+nSfCBJ+eTlg4kz6bV92
4rZP/Z0MlKTenbJhnb9n9sm242lhmm8WlymE571ch6IxPNTCdzgLxvBwzzGRCjWe3yRjA7koVTiQBweOr3/x3OsfYbvSWdlO/dU85KblvyXf7p9OqiBr
LBfNGrsL1aHuUEnjlSLDj8N2Gco1KLwgzN4Xjnxe4o5/5zlxRZiiKNEjwoFtD3jGUkk8mGjbA5atFF+w8viCLbGnaezhkCp1qWaiIKYEmUrxeMYI0zNZ
XBVAliuC3oK5A988MExzSBGH9oDwR0jLuB6p2KbwKJPUYkyCIOfph/x6r4zZ7wmmmD03U3wI9WNywjWgtB/qqZEoz8gJU4vcgpg5jhZddB/qwoo5CaJK
59hsZyRcxJU+hPmoyRJgI4Y9F7FMRALNEdRiY6dE4DRhJvyage7pQmctTvkWXJWfsa57uroCJVlz1vtJ9b9moBIxrV61rNyDGbq3uMQkfS8I+OVbUDcA
MjT9ZRQtL9D0lxG0Fbg69E3PEPFIbrCL8qT611gl/xpX7qRxOSmOy8k9mAkSni3TsLiglXBNJj0z4AS3ls/LreofZqEwPVP11eqjUNlwUkplE1MqhalK
pXiKUilNKpWICijHVMA4AeGViHvlguJ+D2btkacdOqH8VoMY8qfOKMyRs4jrkYEmsHlkYRnXOLjDkF31ELI9/WWQkqtEHnlMXtRAFrNjD+THQt9z46Hv
6u8rUODHjEsP9jrU9NHINPrsTYAgXaUaAjtWsvrPp6j/8ekXJqb/EwVqe5ZpuN5Xn4ZwGS/W3ykl/m8Ae8p/mfhi3/P7yxmosPDUi5AVQY5OPbg2tU32
LDR/3Fhem/LSxBLkzrYE+eST3CKU6WjRDMwSBzQ99ASKMrQ1PRxaRLr2dPcYS3T1NxWoRCq+klc2bwEEz9J60p6Wb9F66q8oMB+kzUVXbkUshpKakhXB
Fot10eeA1d9WAHh3rm966AMoCT+W9KItpYxPBtscEQctIiyTibEMgtwwDH9kvy/wAK8DtdjAgZtBiTx0Nf6IeGbyEfHENLxsYhrepbKAcklPfjrGJZ78
nO7oVn+uAMLGL0Yi/C0A9qnRlIoyg7Bz8TcA8WrmfJEJz1xH1FkN88CIZOd4IldhLJFL/VcKzLPvDh7h+pLeVwicQ9lpzqHcuHPoOhRdQqwwka9Ai5fL
Ofuf80nXemLqqex2Skr1wplSLhfOkv6zcMql48LUO6FLXfEsTN2oF6YL6cq/zUBhl9WgHSjJjCSkJnpCY+lKC7dTcbjV/hGUg1tPlPivm8YuVRfemI4k
Lk47UIncY6J7iY7q8XvOhRup15noQ8izu0eUFLIWvaVcWEpH4JNb+ZtZyG0Ty0c/AGCzYJdv6FbKNQG/3UnsN3b/c195W0FbUOAebDTV353YW8z1zXr7
NPJGv3iQGiXHEMYf8l+4m/6itUxNfwawa+oWt4RR0nxiRvLCNMc7akOeXTKg5H/kEl4/LJyWHb7ykwxUmxEJRx0o04lyz/29tIujWGLx9Mnu8A75qr+R
surn6O8TmA0WoGm5L4jzqhZp5X/loMBUvot2oRw8SprY//hb2onCH32R+Zcj72+LZ07R8rSO42+hntr/HsxSOkdeHUpcvslXiaaT+5cjRmu071clGLtc
MLgFkzjjyad+ps+4A9WA4TqdbqLmHnvdZnqHvwRzwZcFvZ7p+6cNLZnuHylQYMaMewZaTFp706fe47QI3iP9WlqfY5bU1F5XfpqBYlPkoQrFxouJiu0c
sv1phNLB7nYmSqcPLBltP9J3mLY3re+xp01OH2PltxTI0yOLi9bEv9c75TQ3nRxdKAeTSVy6pOPkwq3UIemJ7xI25/8LAAD//1vGY/k=
"""


def load_messages():
    """Returns every message of the protocol by its short name."""
    files = descriptor_pb2.FileDescriptorSet.FromString(zlib.decompress(base64.b64decode(DESCRIPTOR)))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    newest = getattr(message_factory, "GetMessageClass", None)  # since protobuf 4.22
    make = newest or message_factory.MessageFactory(pool).GetPrototype
    return {
        message.name: make(pool.FindMessageTypeByName(f"{file.package}.{message.name}"))
        for file in files.file for message in file.message_type
    }


PB = load_messages()

SETTINGS_SCHEMA = {
    "type": "object",
    "properties": {
        "longest_title": {"type": "integer", "minimum": 1, "description": "most characters of an item's title"},
    },
    "additionalProperties": False,
    "examples": [{}, {"longest_title": 40}],
}

DELAY_SCHEMA = {
    "type": "object",
    "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 60, "description": "how much later"}},
    "required": ["minutes"],
    "additionalProperties": False,
    "examples": [{"minutes": 10}],
}

DESCRIPTION = PB["Description"](
    id="python-reference", version="1.0.0", protocol=1, display_name="Reference plugin in Python",
    capabilities=["action_plan", "menu_check", "menu_check_context", "order_translate", "rider_status"],
    settings_schema=json.dumps(SETTINGS_SCHEMA).encode(),
    actions=[{"name": "delay_order", "title": "Delay the order", "sends_event": True,
              "parameters_schema": json.dumps(DELAY_SCHEMA).encode()}],
    endpoints=[{"name": "api", "description": "the aggregator's API", "hosts": ["api.example.com"]}],
    secrets=[{"name": "api_key", "description": "key of the API"},
             {"name": "webhook_token", "description": "carried by what the aggregator sends"}],
    inbound=[{"kind": "order", "purpose": ORDER_PURPOSE, "scheme": BEARER, "header": "authorization",
              "secret": "webhook_token"}],
    limits={"memory_mb": 256, "in_flight": 8},
)


class Refusal(Exception):
    """The error for an invalid request."""


# The rules. They are pure: the same request has the same result.


def settings_problems(raw):
    """Returns the problems of settings as (path, message)."""
    try:
        settings = json.loads(raw or b"{}")
    except ValueError:
        return [("", "must be a JSON object")]
    if not isinstance(settings, dict):
        return [("", "must be a JSON object")]
    problems = [(name, "is not known") for name in settings if name != "longest_title"]
    longest = settings.get("longest_title", 1)
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 1:
        problems.append(("longest_title", "must be a positive whole number"))
    return problems


def check_items(call, items, categories):
    """Returns a finding for each item whose title is too long, and for each category whose name is."""
    problems = settings_problems(call.settings)
    if problems:
        raise Refusal(f"settings of platform {call.platform}: {problems[0][0]} {problems[0][1]}")
    longest = json.loads(call.settings or b"{}").get("longest_title", 60)
    return [
        PB["Finding"](ref_id=item.ref_id, rule="title_length",
                      message=f"the title has {len(item.title)} characters; {longest} are the limit")
        for item in items if len(item.title) > longest
    ] + [
        PB["Finding"](entity="category", ref_id=category.ref_id, rule="name_length",
                      message=f"the name has {len(category.name)} characters; {longest} are the limit")
        for category in categories if len(category.name) > longest
    ]


def translate(request, _context):
    """Translates an order from the aggregator's format."""
    try:
        sent = json.loads(request.request.body)
        lines = [PB["OrderItem"](ref_id=line["item"], quantity=line["count"]) for line in sent.get("lines", [])]
        order, store = sent.get("order", ""), sent.get("store", "")
        if not order or not store:
            raise Refusal("order: order and store are required")
        return PB["Translation"](order=PB["NewOrder"](
            platform_order_id=order, store_ref_id=store, order_type="delivery", delivery_type="self", items=lines))
    except (ValueError, TypeError, KeyError, AttributeError) as wrong:
        raise Refusal(f"order: malformed: {type(wrong).__name__}") from wrong


def plan_rider_status(request, _context):
    """Plans the update of a rider's status."""
    if request.order.delivery_type != "self":
        return PB["Decision"](skip="only riders of self-delivery orders are relayed")
    at = datetime.fromtimestamp(request.changed_at // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = json.dumps({"at": at, "status": request.status}, separators=(",", ":"))
    return PB["Decision"](plan=PB["Plan"](
        endpoint="api", method="POST", headers={"Content-Type": "application/json"}, body=body.encode(),
        path="/orders/" + urllib.parse.quote(request.order.platform_order_id, safe="") + "/rider",
        secret_headers=[{"header": "Authorization", "secret": "api_key", "template": "Bearer {secret}"}],
    ))


def delay_of(raw):
    """Returns the minutes of delay_order. The hub has checked them, other callers may not have."""
    try:
        parameters = json.loads(raw or b"{}")
    except ValueError as wrong:
        raise Refusal("parameters must be a JSON object") from wrong
    if not isinstance(parameters, dict) or set(parameters) - {"minutes"}:
        raise Refusal("parameters must be a JSON object with minutes alone")
    minutes = parameters.get("minutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 1 <= minutes <= 60:
        raise Refusal("parameters.minutes must be a whole number from 1 to 60")
    return minutes


def plan_action(request, _context):
    """Plans a feature action."""
    if request.action != "delay_order":
        raise Refusal("the action is not offered")
    body = json.dumps({"minutes": delay_of(request.parameters)}, separators=(",", ":"))
    return PB["Decision"](plan=PB["Plan"](
        endpoint="api", method="POST", headers={"Content-Type": "application/json"}, body=body.encode(),
        path="/orders/" + urllib.parse.quote(request.order.platform_order_id, safe="") + "/delay",
        secret_headers=[{"header": "Authorization", "secret": "api_key", "template": "Bearer {secret}"}],
    ))


# The services of every plugin.


class InFlight:
    """Counts running calls. While draining it rejects new ones."""

    def __init__(self):
        self.changed = threading.Condition()
        self.calls, self.draining = 0, False

    def __enter__(self):
        with self.changed:
            if self.draining:
                raise InterruptedError
            self.calls += 1

    def __exit__(self, *_):
        with self.changed:
            self.calls -= 1
            self.changed.notify_all()

    def drain(self, seconds):
        with self.changed:
            self.draining = True
            return self.changed.wait_for(lambda: self.calls == 0, timeout=seconds)


IN_FLIGHT = InFlight()


def log(level, message, **values):
    """Writes a log line for the host: @message and @level are always strings."""
    line = {"@level": level, "@message": str(message), **{k: str(v) for k, v in values.items()}}
    print(json.dumps(line)[:60_000], file=sys.stderr, flush=True)


def guarded(handle):
    """Returns a handler that counts its calls and converts errors to gRPC statuses."""
    def run(request, context):
        try:
            with IN_FLIGHT:
                return handle(request, context)
        except InterruptedError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the plugin is being drained")
        except Refusal as refusal:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refusal))
    return run


def check_items_stream(chunks, context):
    """Receives the chunks of a menu and checks its items, with their categories."""
    try:
        with IN_FLIGHT:
            call, items, categories, size = None, [], [], 0
            for chunk in chunks:
                call = chunk.call if call is None else call
                size += chunk.ByteSize()
                if size > MAX_MENU:
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the menu is too large")
                items.extend(chunk.items)
                categories.extend(chunk.categories)
            findings = check_items(call, items, categories)
            for at in range(0, len(findings), 500):
                yield PB["FindingsChunk"](findings=findings[at:at + 500])
    except InterruptedError:
        context.abort(grpc.StatusCode.UNAVAILABLE, "the plugin is being drained")
    except Refusal as refusal:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refusal))


def configure(request, _context):
    problems = settings_problems(request.call.settings)
    return PB["ConfigureResponse"](problems=[{"path": p, "message": m} for p, m in problems])


def check_health(_request, _context):
    return PB["Health"](state=3 if IN_FLIGHT.draining else 1, in_flight=IN_FLIGHT.calls)


def drain(_request, context):
    left = context.time_remaining()
    if not IN_FLIGHT.drain(left):
        context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "calls are still under way")
    return PB["DrainResponse"]()


def unary(request, handle):
    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=PB[request].FromString,
        response_serializer=lambda m: m.SerializeToString(deterministic=True))


def services(stop):
    """Yields the service handlers. gRPC returns UNIMPLEMENTED for unlisted methods."""
    def shutdown(_request, _context):
        threading.Timer(0.05, stop).start()  # after the response was sent
        return b""

    ours = {
        "Plugin": {
            "Describe": unary("DescribeRequest", lambda _request, _context: DESCRIPTION),
            "Configure": unary("ConfigureRequest", configure),
            "CheckHealth": unary("CheckHealthRequest", check_health),
            "Drain": unary("DrainRequest", drain),
        },
        "Menu": {"CheckItems": grpc.stream_stream_rpc_method_handler(
            check_items_stream, request_deserializer=PB["ItemsChunk"].FromString,
            response_serializer=lambda m: m.SerializeToString(deterministic=True))},
        "Orders": {"Translate": unary("TranslateRequest", guarded(translate))},
        "Riders": {"PlanStatus": unary("RiderStatusRequest", guarded(plan_rider_status))},
        "Actions": {"PlanAction": unary("ActionRequest", guarded(plan_action))},
    }
    for name, methods in ours.items():
        yield grpc.method_handlers_generic_handler("servery.plugin.v1." + name, methods)
    # The services of go-plugin: a health check with the status SERVING, and the shutdown request.
    serving = b"\x08\x01"
    yield grpc.method_handlers_generic_handler(
        "grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(lambda *_: serving)})
    yield grpc.method_handlers_generic_handler(
        "plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)})


def watch_parent(stop):
    """Stops the plugin when its parent process ends."""
    parent = os.getppid()

    def look():
        while os.getppid() == parent:
            time.sleep(1)
        stop()

    def read():
        while os.read(0, 4096):
            pass
        stop()

    threading.Thread(target=look, daemon=True).start()
    if os.environ.get("SERVERY_PLUGIN_STDIN_HELD") == "1":
        threading.Thread(target=read, daemon=True).start()


def serve():
    if os.environ.get("PLUGIN_CLIENT_CERT"):
        sys.exit("this plugin speaks without TLS: its manifest must say transport: socket")
    ended = threading.Event()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32), options=[
        ("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)])
    for handler in services(ended.set):
        server.add_generic_rpc_handlers((handler,))
    with tempfile.TemporaryDirectory(prefix="plugin", dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR")) as directory:
        path = os.path.join(directory, "socket")
        server.add_insecure_port("unix:" + path)
        server.start()
        watch_parent(ended.set)
        print(f"1|1|unix|{path}|grpc", flush=True)
        log("info", "serving", version=DESCRIPTION.version)
        ended.wait()
        server.stop(grace=0.5).wait()


def main():
    if os.environ.get("SERVERY_PLUGIN") == "e9d4c3f0-hub-and-plugin":
        serve()
    elif sys.argv[1:] == ["describe"]:
        about = json_format.MessageToDict(DESCRIPTION, preserving_proto_field_name=True)
        about["settings_schema"] = SETTINGS_SCHEMA
        about["actions"][0]["parameters_schema"] = DELAY_SCHEMA
        print(json.dumps(about, indent=2))
    else:
        sys.exit(f"This is {DESCRIPTION.id} {DESCRIPTION.version}, a plugin of the Servery hub. It is started by "
                 f"the hub; `{sys.argv[0]} describe` prints what it can do.")


if __name__ == "__main__":
    main()
