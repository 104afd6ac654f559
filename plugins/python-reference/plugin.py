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
eNrMfE1sI8l18PCffCQlqnZ+OJo/Tc+OPavdndmZ2Z+x159tSqJG3BmJcpHa9e7nz/21yJLUq2Y3t7s5M3KCJIiNxPAhSOzABnw2DMRGAPsQ5BAfjeSS
ADkFMIIEiRHkkpwCOEAuSVCvqprdZJP6G699IuvVq79X769evWr4XhIue8x9wtyDO31rsGvad57cvdMxLOt233V8h8zJ2tui9vaTu9qfJSC9bFgWmYf8
9sAzbeZ51cRC4laKBmVe17cMf8dxe9XkQuJWgQZlchYynu+4rJrCClHgLTzm+6a961XTC4lbJRqUySdh1uyyXt/xmd050PfZQTWDbWdC4EfsgHfSGbgu
L1azYlhVXrr7wZ1d098bbN/uOL07cl2v7g2270Qp4N3Bpb/d397O4r/78FeX4sjUtwx7Ipnmp9JV+3YC8iusY3qmY5NXIc37QiIW7124PdbZ7U3LsNfO
UEQjZyHt7Zt9QVcO5SXyachbbMfXnYFfTS2kbhXvXYvraLBtmd5e3XUdl+Z4g+bAXypAzhn4HafHtD9PQ5qPxknJ7G7fMW0fJ1agQZmch2yP+XtOV+6t
LBEC6b7h78mNxf/kAWQ+GjD3oJrGSWkTVnf7CxypbvvuARUNyGcht8eMLnO9agbbvjip7ZpAE61VIz6bbacrGKFE8T9ZhRmPdVzm66rr3ERatRBR9E3L
XqjkkQeQ8wadDmf9PO7a1bgOBAYdWIwqdLIAxY7Lusz2TcPyqoWF1K0CDYPIq1w+WN+rAk4tjh9aPutTgUUqkBq4VrWINOd/5x8ADKnJ67nAiD3kf7kA
PjGsAZO7JwqfTj5IzH8aSmFaHqet9tMspPm8ON1to8dkK/wf4abkRG5KxXJTOsRNcrGZYLFD/spO5C8+q+n8lZvIX9h2On/lQ/x1CQpcRnWsKCwkbuVR
8dlLvJJAese0LNzXAsX/5DVIo5Is4gwux8xg1XF7qyazuhQxOXv0Ddf3qqWJ7LFpuD4VWHzQ3a+Y/WoZJ4P/Y6Rg5kRSMMLLs+O8HJKTyvHk5GVI+8Y+
q85NXGXb2GcUkchtTpNd5lUJDlKNpcku86hAIzeg7LKBx3SPdRy761VfWEjcKtMSAlsC9isSoz9MQJqvLFaMrkPpQ8+xdRQc5srWRQ7bFCByBaBnPNMt
Zu9KTVymhZ7x7DECuCA6fd90bMNCwcrToMwFUewvyleeypL2BhQCJoydVuxqtO8lIM05cZJC2DEthnCpEFSZr7Lj2D6zfd0/6Cs/oShh7YM+Esdnz3yl
G/h/UoWcRMH5l6gqRqUyG5VKzYYM8ga5CTOdges5bkBeMeGygCoC89kJNKF35B4IGDIMH4/vgWBJsQX5nvEMh9E+gFJYpjjVhRTK4WQptBvSyIoSp5zP
etybUpQJytofJ6AYkiZ0qnzDH3iMu2ipWxkalI/CS9cAizr7aMDlW4wGHFRHCCfZjmkblh6MksZRyghtSaD2nSTkKfP6ju0xXBdW4HozVJbI0lAdJ1Hm
b8VIserlEJWcCqlkAmluKBWr8P/kDcgxw7VM5krX4tKUsajC5Xwu9pTbmpJUJqeV9kqD07rvMp+yjwbM87nq467iFH+Q+98UkchbkHflRLH7Q9YSIPN9
MDpc8pXZFSXt3xMwI93EpnAKyRvcI+H8xmc0E2smJCrfckYFNhfIHvM8Y1ctXBXJW5Bl3AX1juqqSnRyGQou22Hco2dyR4cAcg/OsWd902Webuz4zA3U
ewZl8AVZWeN1UstrP0xAKTwUpwu3Xr7aQVki5yDrsh3dVE5vxmU7DdSHHaerRBH/hxeeji78s/yU84S5vPsMEjPOYVk17a5p77YkJg3aLH4rAaUwqckV
uNjcai831+t6q11r1/WtjdZmfbmx2qivVM6Q80Ci1SvNjXolQapwNgpfrTUe11cqSXIRzkVrNusbK42Nh5UUuQAvRKtovU3fr6QXezA7MmWyAJdXG9hQ
b9XfrdNG+/2Rqc3D+TGMOqVNWkmQy1Adq3uvRjf4PJKnOcn9dRqujR/M5OHnWIe54elP+4skzFLWd1yfdZXIRBg1Mc6o6X3TFpw0E+sTyX4emXaXIi5Z
gBKelHXJhVIbI4wiKy7CnDpk6wLV7EoGnFUVLQ5vdIcinTmpSGcniXTuWCK9+NtQDC2Wb71iskeNjZURpjkHc5Ha9frGViURlgIEt9pNWtdry+1Gc6OS
HOuz0a6vq9rUadjpf27ClRh2crvMPWFkYP4w9jyEF38TKm3XsD3uDpzInrwNOVe0k+bkegx+w952BnZXDkBVC+0fkjATreP6EVldOn/IykvqzCYM/SuH
jhBzelsbugvChtw+vJfpTkM65DRcg6LLOsx8wrq6IfzJFAUFqvm/osPBd1NQVNtrOja5DxlkNrm1cZZ/gz1tcpS1M1TgknnImbu247JuEEJSAFKHUsew
O8wSA6CSiZfl5RDa2hkaaUY+B3nOTNtGZx/JGs9FNXQ4liXi2hkaNCKvQWaH+Z091DLxB7pVXs9XhYj8NC/lpJrDNlqsGxTR0nzlztDHcVnfEmY5fskB
N/WtAyqwlwpcIRq2ae9q/x8yOCcub0eI58loXlhp4/4MPYxAaeMGNrraTxJwIZBuHIt1P3Yhj3icqWN4nFoFZqJbrv08AaUwVUcOB+XgcLA6ejh45ZD9
OcYBQYOyIrzeM9x9aTKLjqD6uuHun0poKZTCwhK/44nYHef0cJnhObY6BIqS9vMc5JVkH6vDUS8ieTQvIhXvRVwBEAPiOV364wjBU/oNKHeZZfJtEhgi
bldSQETSoGx6+vbA2heTlwf0ouktDax9scK3IN8ZeL7TY66U7jiWW5YoNEAm9yBj+qznVfMT42uCMj7rUYFKHkCus2e4/JxXwFZXJ7Wq9ZyB7VOFTl6H
jG88Yypye1g7gUw+A4Wu6XU4yJNxwMNaDhuQ1yHXNw56zPZlQHA+NviFGFShcr7qOIO+Y2NcsEBliWhQMm3Pdwcop151RmxYGEZehrlgV7uGz3yzx6qz
aCErqmJFwslNmBEc4g22fcc3LIwDFqgQuZYEck7BP7qi/JwYGIHLkrzXoCiQBJGJYF0EtZGS85BXhMGIXoEGZd5YsirO4qxoLHgVp3ATZvrGgbFtMd1A
KlfPiZlKqCA9Z/mu6fUt44DLxXnB8hLS6PJh+i7rGy7Tdxy3ekE4DhK06rjkCuQ6A9/i3k+VMzq3QRLw9URiCSCvy6L2OwnIK56eFHfr7zl2oHOwwKGs
Z5iWul/DAucTo9t1medJixzHJzWBQRWq9ncJyEkgPwBbps30u3IOGV66G4DvqVnw0j2+F5Zhd1GhyjCVKuOZmZ+AZUiG/yfXoeQNtnXL6RiWOh0XaNEb
bD+WIK50+6YtDx78rxjEN/1BV1h9HESU+QnMcuxdUZkX+xQAtH9OQCGQ/NDZPhE+289D/qOBIYIBSXHDqcpIe9fsBLeYWOBQ3/QtpQtFYUyqMjFS9QBy
IhDryZuMiTqgiWhUoZMLkMMNMLuSBrgfja72pwkohlr8slcZmkcmPA9yCbKc+20fty6zdobKMmf4AuR0UdIMOV0pacEoifAosXaWc5Q7DIji/yAykx5G
ZrT3Ibc5VIGCgirOI0oYFxPyL02uKJGrUPTcJ67uu8+GFrHAQW33WaOrfS0JGWGtLkI+YoZTNCd9ieN4e8/5wB811ZlDTXX2KKY6N2aqtd9NAql19m3n
qcW6uyc7g95Wx5rkRO8fBxueaPJGp8P6PhNUytOgHPKg0mEPCu8EXNbX0XqJ812eA9rcauHxj6PpyEGCFiBAy06XcWp29gx7VxwPc9i8ICE1X/u9JBCc
oQiBfyxEGLrOMp4rXefJwcjoIjIji+AaGSnUM+2Bj0FvjoDmbV2ARumUG6WT9p8JmOUa1ms2Wx8LFRagxL04KTMiNlCgwGEoMx55EWaEpAc4acQpCajE
ugJgWJbzVGddU92HFRBS75q+WLg4S3LaZVV8QIBqvvaD0MJ/aWH01+G88nT1nuHts65uD3rbzJUscFbVrmPlBtYpM5oOzOhpImBfz8HV8YCUuEo4aQhs
ekjtkADY7yehLE6ZH5fUxd2iiAvKXn94Qdnrk09A6SkzXNPexd0SXLV2hhYllO/S1xOJoVuXDbt1VwH6hmv0mC8yFvgBNgRZmoWyHu5e+1oCqsHdkjpy
f/wxwR8GG/JLkwO8uZVyICiXUje3ArqJFBzuVTqyV7FGORNvlGNS0bKxqWhBPCl3rHjSKUTxTzLwYowoPjFMy9g2uQd90my1f0oAQT/iFIL1fAMPBNJO
n9kyhQH/H2bOLgP4A9fWHXuosfMc0rRrvvbjJMxxff1rs8LLUJBbJ/1sbn8UYMzMZY5g5rLxZm6KHzNCs3yUZqfh1X/LwKVxlvvwqT857/S7KSi94zn2
e2y77ewzO5QgkYgkSNShtM8OdGZ3nK5p78pLtrhwcLi7R+yAFvfZQV02I5+BbMcyzJ66X3jxkA6WOTKVbUgzoq1F7uOdQ3q4vRm0EGHLUBfkJahY5g4G
VUautWcVXF5phzJKspGMknDmSC6aOTL/f2B2ZPRjxTgdmBujxdFThUJbmYpsZRVyMglY+a6yuNiH2ZHdIxpcfafV3NDfqy/p7eaj+ob+qB5z6RyDQ2vv
iUvEmLqlWqv+5uunu3X+0UtwY5zbu8zruGZ/uqc0TUq0OZhdwU621TlL+/s0FFeGHZMZSAbn/aTZ5RR9wlzPDCLKqogp27zXjmOpnCVV5kcBFfTCHZUR
cgnb4BurQalj9IWhMZnSSBEYWQJ44nSM7YFlTE3YfDdAeug6gz4NtSIPIGfIMEpuYpxE+hs7O8ylCp2bbpVRrnudPdYzZOrmjAK3EEo+BQWVnKpCwHHh
5rrEoUNscp8zLGddFQO+ODGlkipM8jrkTOEKyPDv/BRnQaGSu5C1zJ6JiaCJCSM9RgQqEcnnovmaZRzsSpxVC7Ai6ZzatxIwO7I5XKJ3+R8VpsECuQA5
x9a5PUI+y9OsY2Oo7RIUHFuXkRd5WHdsGaF6HdL77EDpy4WprMEVNmJrX01AOQKP1TyvQdodWEyag7ibgHe5LsIsVMTksoInPowqcG5WRd7/wDaD9EP+
X/t+Aoohvpuk/URIKxkOaV2D4vaBHlyYCqLA9oHy2cnLMDe0BIp3xXV1ZVghufcaFD1mdz2dPVGpkHkKCKpziPaPCcgr3o2d5QIUQ7pJJQaGQHwde47n
q+O1KGA6MHN9c8fscBMjlUQIxEUwVAw/5AiB+Qa+DeByDGRceQkct2XU8BkyOS246q/WhUIA52pNnkTUnWJQxpA/c02nG1jUJGKUBVTZ07OQ2R64ni/V
oiho/xeyQpBPSMNLUOgzVx8+hcnTfJ+56P9p/5UAGArhCUe4D1nHGPh79+Q1bZyGaNY4wtoZKlHJMhQ8c9c2/IHL5E3BjdjrXaRhS6GunaHDduQ+pD58
6k+5Sg/b7rUzlGMvZUWmiPbtNGTFtMh9rlsM+QJlJlZVYRcPORIVuFPfGsS9ULkEBZ93og9cSzJtHgFbrsUrO5bJbH94JswLQKNLbkBZVkrvRQZNBVBy
RxNmOGX5TnZEUkUOF/PJOL2LDWsRdDrSHN9PdZy+utQQBZHSvuMyb0/HyePrgwItSaBwmRsRr1RYqJcmcsVUf3ToZBYnOpml5+tk/iIJlVG+m3gKWIaC
Ye06runv9aTOvxlni1VHNYVMh+3I5zkryWNECvt4cVof6uxAg1YRcqSj5AiRMBMhYUCBbNhHfgkq3Mn3fKPXl+82pBc/G8BlSvl6GJUfKuXhLf4U1Fao
q4gZ6k4AtD/KQk66H7HpXG9Drj9w+46njOuU8NCmQKSqBXkAWTRoTBJ4YXJbNHCMSvwQ+dITEuczEY44D9m+y3bMZ+pYJErks6FNzk2kkpxDzBbHbUw+
fmNehjnfsZhr2J3hKa6AVqUSVCizE75GAuGrq2uksyqBTsieTInjlt/ctVlXx7cRJRl/QFCbPfO5+R3OVHQgrv9nArB4wLARw0AzSJobk0kT8NEYB/Hz
g+3wNUvyzApjhTBJmk/AbJCFI7HCmQKNrsR7AzJCv80dFldDlUcFNnoegT3V+4bry/yBmSEYH6vchCExBJ7IJCgHUI6m/XSYuSRU67T3ksrqJENW5zxk
Tc8bBLF6WeLji3969ORbFtCWAOKV16BrYnqxNEuqzBlS/Q86ESw/q+CyG20JsuKMgG9WWM9xD/TetnKUBGB9m1eatr5jmbt7vvSR8qa9iuVFHwqB58wP
2O/WHm/Vdbr1eDQZ/RJcCNW9t9Z8XNc3ttaX6rSSIOdgLlTZ3KjrzdVKklyAF0Lg2sb7erv+xXYltWgBDE0/71oc2R/S2kZ7ZFwNroYrlx836vyH1lfq
G+1G7XFLHP7DOLS+SuutNREHqCQXfwvOxtlmchOuy+5qW+013t1yrd1obozM4BpcikdbqrUay5UEuQrzExCaK+9XkovfTwAZN1XkBlxrNR5u1NpbtK7X
Hj9s0kZ7bX1k8OtwJQ5pbb22rLfWancriUn9KJR7b7xZSR6G9Mbde5XUogtzY+aQb8CwZX1juYmZ/WORmRictfoXxebE1KnIzOI3EzA7YsTIAlxuN9br
rXZtfVNfbdL12ihXXIbqGEarvtzcWOH8cB2ujNWuNx4/biiUZGwHdHX5/v37n6qkFr+aCFKhpc3jXNDYWGpubazom1t0s9kaFZCLcG4UoUlXUDzm4fxo
VZDeHtNsvfHF+koltfiLBJQj1pNzmkJuLa/V16fMQdbXv7AlZGS8aqleo3VaScb0GuadFKnC2dGmyPlpTsUJLe9WMlP65eyWJeeBjNS/8167klv8Dr6r
ipolvqcKebhx0dVfgYvjKEOu0ODqePUIW8R2MeSLD2F2xJXgvKpaTBCOEPlGROMSXBireR4hy/9Ox93r7jHD8vdOeo30OagsO/aOuTtwT5QXoj2CuVAH
8h3bmxi33LZYT7xxnJABKVBogKu9BTkJDOxzImSfJ942ameBLO+xzv4aEkMFXgeQFQDyevR6My4+KTCPeLsZMb6pqPHVZqC04hqmurHSZqEsy4I8i78B
xdBoXNzW6rXH7bXY52JVOBupbdXpu42Nh0L2IzUr9Ye0tqJejEWraK2BL7VO9bTmm9fjvrnRY/bgpGkF0/MG9gAwX2N5b2DvH+/i71WVZJyc+FY9lF+s
PYSyfC0nB3sT8jsSMIWDZRsa4Gp/kICchE7K7SOhoGdhGNZUnJaa/DoxffzXidqPU1BYZ/bgBDS8rT4KMznvAiNj6nMxbwN0DJ9xR4ipG7rYnHCBdEBD
6MMNSx9lw8gylOVVKsa21edIYhM0EU/cWsibVizgzUA0v/PixObD1M5XVEK5uOo4H/sVhGcqkfz+MHE9P3EIkUwd5KxrX4IyZXaXuawrtu0tyHfll2mm
PCtSH6+hAXLwtiI5fFuh/SwNGdy3SQwaeyWenHjpj1HQVCgKGpdKXB2mOoujkSpiwM6xfaPj6+EMm5IEijSREycVqwSTJ0x++kOW+IEMD7Gmvasz29i2
mDjR5+msgtcFOPIFo2L0C0b8iNwzbZmiIiJE4oxf7pk2JqjgOUzh9c3O/kAmOJbx6p7jbSIUsxwXYY7jDfM+OeYMYvIOVlTqJ8e9Dznf7KGKmp3IW23E
oAqTfB5K/vC1mletTHyEgTneG0aP0UgLDJ+ZPfYVvldzMnwmy1oDsmJAUoFU1wiCiF3jAL+hYzn+NJXcshyfCizt85DmRXIFwPMN1xekkM92EYJEuIhn
fFEpjTQTDqb2/6AQrEHmvu8OuIpNBLnvWA6YODk5lJ8aC+VrP0hCXqmyKbr++D3jkh3Xlwm9aZEBwiEil/kC5Mzerj786E7W7O1uuRbRoCzStlW6ixCl
ogCKfJfR/c8de/9DbJc/KttpX8tAelpaf/wt3OGkCpLh0+Fk+OtQ6hkulzRRKR8uCNgmopyH7FOG7puMPIqSiFS6T5gnM29kiXt8O47TFYnYefl1FMfp
YhJ2dMMKoxu2gC9XnV6PK3WlZsIgVIKoUnyucTv7qGdStCSBLQ4jL8PczsDaMS2rxxF7TpeJLw4VaCVUsc7hYSYpR5iEQNo3dsXnhQoU/48xxeyxmeId
qOyzA6EBlUmuTLwxfsQOUC0KozyzHy565BZUpGNwECRKzeFsZxRcpkrdgbNhLyDAJog9FzL2ooG2B+XI2BNuymswM1xN1/ANqbMuTVkLLallrBi+od2D
vKo56oWK9q9JKIa8lectKzdhhtsWj1ms4wc5bMIEtQIgohnPwmgZiWY8C6Hdg3O9geWbMm/AC6yoeCv4AlaK1XjKkkblJDcqJzdhJnjHZVumLQQtT8vq
LRcCx7i1cFxu1X6Wguz0BzjPVx8NlY0gpVI2EaWSnapUcocolfy4UgmpgEJEBYwSEJ6LuBdPKO43Ydbp+/quO5TfUpAW+dCVoss9KJt5PuvqElskyxRo
WYCbiOxpu5BqG8+Cl0aJ0Ddg4jc1kMVU+GpvNJszPZrNqf0kAVnhuZ96sBtQNvp9y+zgU8cgGbo0BDbtePWfmaD+R6efHZv+NxJQ3rIt0/N/9Zm1p0pb
Tcd978M1T/G9j+mPHbRfJIBQ89fjJdEVAFxqOAewgBD0el8BIqrxaKVeogh3qII1eL6Sr1CimcfZ0RdUf5mAs7hurhU+ttcc4aNfatrRLz169LsAOY8x
e5h5nuXF0yVJ/wuJi8HKqU9kt0Oe48wf6Y3A/FHyVecPiRDPTw3gneqZz/x0Mbz3N0nIbmIN2YC8SpIlWmwkI5JBO391Io6wuu9CIQhCk7jr8NEY9/yL
05FkHLsJxVBYmdyMjd2Mhp3nL06MLpN3IIOhYBJ3Rx4OGs8vTEYQk7v3t0lIrzN7QL4AgLPAWCm5MiFyJgKbsf1GQp+3Eq8lyGPIiggUifMKgnhibG+R
0BX29kHog3rye1MkPmkh+tW9+euTP1ilHi49Ati0DFtYMhI3n4iRm58WOLv3jSSUaiHBI00o8N5FuOzmpABo5IHK1BHIhuhQbNWLE7bqGP29D7MB1Wq2
95S5z4uy9/4jDVnUxB7ZhELwjZvY/ke/bxUrseGvJH059E0s+dUcsjit4+indQ7tfwtmOZ1Dr55jt2/8VfR0cn8Zzg7JHer7eXHzpuBm4VjEznj8CfP0
GTehFDBcs9mKVbcjr4Gnd/glmAtWFvR6pPVPG1ox3Y8SkEUfwzsCLcadsOlTbwtaKPeFfHJSnyMOznSl8e0k5GryPYPURqIYq42OIdsfhCgdmKQjUXry
wIrRtkN9D3Pap/U98lr18DFO4Wb9bwAAAP//kROp1A==
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
    capabilities=["action_plan", "menu_check", "order_translate", "rider_status"],
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


def check_items(call, items):
    """Returns a finding for each item whose title is too long."""
    problems = settings_problems(call.settings)
    if problems:
        raise Refusal(f"settings of platform {call.platform}: {problems[0][0]} {problems[0][1]}")
    longest = json.loads(call.settings or b"{}").get("longest_title", 60)
    return [
        PB["Finding"](ref_id=item.ref_id, rule="title_length",
                      message=f"the title has {len(item.title)} characters; {longest} are the limit")
        for item in items if len(item.title) > longest
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
    """Receives the chunks of a menu and checks its items."""
    try:
        with IN_FLIGHT:
            call, items, size = None, [], 0
            for chunk in chunks:
                call = chunk.call if call is None else call
                size += chunk.ByteSize()
                if size > MAX_MENU:
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the menu is too large")
                items.extend(chunk.items)
            findings = check_items(call, items)
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
