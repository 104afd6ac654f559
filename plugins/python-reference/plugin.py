#!/usr/bin/env python3
"""A plugin of the Servery hub in Python, as an example for languages other than Go.

It needs grpcio and protobuf, but no generated code. The messages come from
DESCRIPTOR, which make generate writes into this file, because a hub runs a copy of
a single file. The rules are the functions check_items, translate,
plan_rider_status, plan_store_busy and plan_action. The lower half is go-plugin's
handshake and the services that every plugin has.
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
eNrcfVtsJFmWUEW+82Smnb7tqsqy6+GK7uqpcc9Udbm6p2umm5lJ2+lydtlOz81093TPskE489qOdmREdjyqygMCpF2J1fKDWDSLQMCuWI1WCyuBhLRI
LPDBCn7gFwGCBfaDD+ALaZAWCYTuKx6ZEelXdfdov5z33HMfce953XvOuYZ/lYObLnGeE+fk4cj0Dw3r4fNHD/u6aT4YObZnozlR+4DXPnj+SP3dDOTW
dNNEC1Da913DIq7bUJaU+1kclGndyNS9A9sZNjJLyv0yDspoHvKuZzukkWUVvEBbuMTzDOvQbeSWlPtVHJTR12DWGJDhyPaI1T/RjslJI8/azkTAz8gJ
7aTvOw4tNgp8WFlG70PhuW76xG0Ul7L3KyuvP5j4tgf0ux58xLBaluecYNFk4dtQiYBRHbJ0Egobgv6kH8VQxdfywncyTxT1txUoPyMjj7VHCHKWPiSi
Kfud3BYtQZWtjOaQA80YiNUCBsPkoD1AyzAnF1XjqMaArV0Zz8qKLoW3B+h1qAW4L4wBYQtYwlUJ/NgYkNVHnz48NLwjf/9B3x4+FMvzzSN//2GcSNyH
jDreH+3vF9ivx/DHi0mUNDJ1K5WSFqaSnvoTBUrrpG+4hm2hb0KO9sWWrbJyPWHrdk3d2ryCGRqah5x7bIz4glIoLaHvQMkkB55m+14jy2jgTlJH/r5p
uEctx7EdXKQNOr63Woai7Xt9e0jU38tBjo5GqY1Yg5FtWJ7Yz6CMrkFhSLwjeyA2VZTo/o9070jsJvuNnkD+c584J40cm5Sa8nUPfkCROF3yBui7UDwi
+oA4biPP2r6R1naTo/HWshGdzb494LxSxew32oAZl/Qd4mmy62LqWnUZIu8b19xIyUVPoOj6/T6VDiW2a7eTOuAY2DcJluhoCSp9hwyI5Rm66TbKS9n7
ZRwFoW9SEUJGbgPY1JLooeuREeZYlF19x2xUOLv6jrnwBCBczfOw88J3oBpdy3OJgj8oQI7OK1EKRKkpk0pN2URqykWoSXxsPvjYkL4KqfRFZzWdvoqp
9MXaTqevUoS+FqFMeVRjFWUmhahusFZpJYLcgWGabF/LmP1Gb0OO6ZEKm8HNhBls2M5wwyDmADNMSh4j3fHcRjWVPHZ1x8Mciw56+GNj1KixybDfCVww
cyEuGKPl2UlajvBJ/Xx88hbkPP2YNOZSv7KnHxPMkNADuiaHxG0gNkgjcU0OiYs5GlUYDvFdormkb1sDt/HaknK/hqsM2OWwr4iN/ooCOfpliWx0F6qf
ubalMcYhjmhdobBdDkK3AIb6S80k1qGQxDVcHuovtxiAMqI98gzb0k3GWCUclCkj8v0V+lOU1HehHBDh2XW8+lsK5CglpgmEA8MkDC4EgizTr+zblkcs
T/NORtKUqghY72TEFscjLz0pG+hv1ICiQGHzr2JZjHNlIc6VqgV5RhvoHsz0fce1nWB5+YRrHCoXmM6Oo3G5I/aAwxjB0PHoHnCS5FtQGuov2TDqp1CN
8hRddc6FYjhRiuyGULK8RFfOI0Nq2siVCcrqX1OgEuEmZnd6uue7hFqx2ft5HJTPQkt3gBU18rlP+VsYaRTUYhC6ZAeGpZtaMEqOjVJj0K4Aqr+egRIm
7si2XMK+i1Ww781jUUKroTjOMJ6/n8DFspdTRHI2IpIR5KiilKRCf6N3oUh0xzSII0yLxSljYYlL6ZzvKdU1VSFMLsvt9TZd65FDPEw+94nrUdFHTcUp
9iA15TFDQu9ByRETZd2f8i0BMt0HvU85X6pdXlL/dgZmhJnY4UYhepdaJJTe6IxmEtWEQKVbTjDHpgw5JK6rH8oPl0X0HhQINUHds5qqAh3dhLJDDgg9
9BCxoyEArcBV8nJkOMTV9AOPOIF4zzMefE1UNmmdkPJUAR8TMmrMpyrg4HyDGab69xSoRidHV5LqO0/uuSihq1AQxxux7w472SDI9e2BZF72O7pUufhS
fZceHZ8Th3afZ8ufZOJsGNbAsA67AhMHbZZ/TYFqdHPQLbjR2eutdbZbWrfX7LW0vZ3ubmutvdFurdevoGuA4tXrnZ1WXUENmI/DN5rtrdZ6PYNuwNV4
zW5rZ72987SeRdfhtXgVbvXwJ/Xc8hBmx6aMluDmRps11Lqtj1q43ftkbGoLcG0Co4VxB9cVdBMaE3UfN/EOnUfmMme/f52DO5NHOXFcOtfxLzwvqv8k
A7OYjGzHIwPJZDHSViZJO3dsWJySZhKtKNHPM8MaYIb7ig/ZgRDIX1QIFNKEQPFcQmD5L0Al8rF06yWRPWvvrI8RzVWYi9Vut3b26kqUCxi42+vgltZc
67U7O/XMRJ/tXmtb1mYvQ07/bAVuJZCTMyDOBe8SFk4jz1No8c9BvefolksNiAtpoPeh6PB2QgHdTcBvW/u2bw3EAFi2UP9TBmbidVQ+MlIX5iIj5VV5
yuOmwTdOHSHhvLcZGhhc6zw4vZfpZkYuYmbcgYpD+sR4Tgaazi3QLAYJanpf0XHiJwWoyO01bAs9hjwjNrG1SbbCDnnRoSibVzDHRQtQNA4t2yGD4NJJ
AlALqn3d6hOTD8CETDIvr0XQNq/gWDP0PShRYtrX+8dsWZOpqMlMlDWBuHkFB43Q25A/IF7/iEmZ5CPgBq2nX8UQ6flf8EmjyNqoiYZTTErTLxeN0Foo
XinOtIsgLnEp1uYVXHHDIu1kSCxfkxxUTu1km1i+IEvayTAs0k7YRmn+aEAlNKR2wjZ2j2HRTuywiD6gxyffoTZxhbVfStpDjhF8i2zChYBJdJc0qqkU
wEbHHI02Fi2oanHIyOQGTnLTgC9H5gnm2Oc33VbLVBnplmEdqv+ZHpUiGzGuLJWzKctMsrJ8LJVllinLW2lEEVOV16i9qLu2JVSwKFHu9i3PMIVQ4QUq
cOw+cwAwgVPgAkeCmp76I6hEaObVfqD6ZyDP2ImqijNcXour6+gInGInR2BE0h6ov6/A9UAxsbHI4EvXT7HjVfYcxyu1DjNxaaX+kQLVKBmPnYRrwUl4
Y/wk/I1TGOIcp2EVanLhtaHuHAtS45KgPdjWneNL6RsM1aicT95xJXHHI/SfidK/+k8VqMUEz3l7Fass71H4KstbqWz8Imt0ZFvyEMYL9Ahm2n2u3vKp
mkLMcEtg4qCN+iOYHatEC1CiC+T5A2nrB2V6EDBt65BX8jmHADQDGd1jk87ijO6pv6lAJSLVz7U0i1DuH+nWYYTRSxwQ241sTBo9khZE7lQLQtgP6neg
GhX955mj+kdFKMn+zvVx4/IuczZ5l00W6LcA+IDsRlLcPDAIu498HWoDYhp0HTgG91BUJZAhqVAzXG3fN4/55MVVZMVwV33zmH/he1Dq+65nD4kjrJKk
BV4TKDhARiuQNzwydBulVG3IV8YjQ8xR0RMo9o9055BwP9QUk6E5tH3LwxIdvQN5T39JpI/qtHYcGX0A5YHh9inIFR6P01qGDdA7UBzpJ0NiecL1sZB4
zc8wsESlZNy3/ZFtMQ9IGYsSUqFqWK7n+ExIu40ZvmFRGHoL5oJdpczlGUPSmGWsV5cV6wKO7sEMpxDX3/dsTzeZx6OMubztCiClFPZDkys/xwdmwDWx
vHegwpH4IiNOugzUYyu5ACW5MMx3UcZBmRkGnFTZLOZ5Y06rbAr3YGakn+j7JtF0tsqNq3ymAsqXnpL8wHBHpn5C+eIaJ3kBaQ/oMCOHjHSHaAe207jO
7Q8B2rAddAuKfd8z6amtQQmdmYsc8CuKsgpQ0kRR/YsKlCRNp3kYuGDORAXzPOTJUDdMGWzBCpRO9MHAIa4rRFQSnTQ5Bpao6r9VoCiA6CoUTMMi2iMx
hzwtPQrAK3IWtLTCZbk1YNo0K2U5L7O7PsM7kZfP9De6C1XX39eoejDlrV4ZV1x/f0uAqMYdGZa4MKE/YwqjOE1hlMYUhvpfFSgHnB+5k1Sid5ILUPrc
1/klZoaHu8gyW3vH6AchLaxAoZ7hmYGqZIUJrsoncNUTKHKXkyt8tqkyoMPQsERH16HINsAYiDVg+9EeqL8rlSBv8UV/ZWQe+eg80CIUKPVb3BzPb17B
okwJvgxFjZdUXUxXcFowihIdJTlyBkHOCV0/7Hdwo5wLb5TVT6C4G4pAvoLyfpqXmAeA87+wjHgJ3YaK6zx3NM95GWrEMgX1nJftgfqPM5Dn2uoGlGJq
OIuLwpA8j6n/ii8q46o6f6qqLpxFVRcnVfUFNK76HzKAmv1jy35hksHhxe7bHkgDLJN60xG1vijV6/0+GXmEr2wJB+XUI+cilKkk15jG48fOEgX0qKZj
V10UTWNUx9cPOGjNHhC6A9yMZCfTImsuLM1B00MPYN72Pc0+oFvZPxa7ztexjOu273UOurSG7b2L3oRZw3qum8YgQOVhMzUB5njqH2YAsS/njscvZXHD
00U2drpId+jEFyc/vjh3ocpWfmhYvsdcjRSBqdptDhpf/+LE+n9RC/y/FZil1Ox2Ot0vZXWXoEr5JphVls0KKExM/Q2Y4dIswMkxnCqHCqxbALpp2i80
MjBkdEOZQVoDw+MLyu/5IlcpEtT01P8Y+fAvzCn6DlyT1rw21N1jMtAsf7hPHEFa87J2m1XusDppKuRCU+Hc12LLNkB4G4UW4Tr3hiS5B+ehHq3s7LZ2
6gq6BigKXdvqdJlrcAy+29yj8Es5UP5vEW5P+jO47/qiHpTpHplT/Cd/KQM1ftPzZQmcJLc9j4gZjsKImOEIvQnVF0R3DOuQERQn/M0ruCKglJB+RVFC
67oQta5vA4x0Rx8Sj4fIKferOAJZnYWaFu1e/WUFGkEwg7z2+vJdSr+RlRvyhbEqCxUSrMpXLitDhTh0l61guFe52F4l2kb5ZNsoITy8kBgeHlyiF891
id4c8x2UzuI7iHsOzn8Pfwn+/70SvJHA/891w9T3DXp6umhM9n9RADExeAlufrWXTghy9ohYIlCP/T7NfLgJ4PmOpdlWqMlKFNKxmp76xwrUWeervnvy
8/GB+757Ij+Q/p4wgPKTBlDgEClEHSLTrU71X2Rhjurwn5vdvQllQbbifEltEgmYMH3yZzB9CsmmzzRbPE4vpTi9sJQTezgyiUdkNLMso/eg4VvBfLXY
ZHmE89VIfTuc9/uwEG049g0V1vR6BKMT+ZzLSI7/kYfFSQHw2QsvPR3ob2Sh+qFrWx+T/Z59TKxIUKYSC8psQfWYnGjE6tsDwzoUYTpJboJod8/ICa4c
k5OWaIY+gELf1I2hjFB445QO1igyFm1QJ6aweb7Fw1N6eLAbtODeo0gX6OtQN40Ddr05Fko3K+EyjC6MYi3Eolij0arFeLTqwp+C2bHRz+VqsmFuYi3O
kYIUbmU2tpUNKIrcLHlyE8XlEcyO7R5S4faH3c6O9nFrVet1nrV2tGethLC1BBzc/JiHISXUrTa7rW+9c7m4tb//EF6fpPYBcfuOMZpuLE/jEnUOZtdZ
J/vy9kL91TxU1sOO0Qxkgpu3jDGgK/qcOK4ROPZkkWXS0V77tinjpGWZ6gF5/cx2VDgqBWyHbqwK1b4+4mrfIFJGxmBoFeC53df3fVOfmiTyUYD01LH9
EY60Qk+gqIsLzWLqjaUwOQ8OiIMlOrXeZKKf5vaPyFAX6SIzEtxlUPRtKMuEGOmMSXL8tAQODrHRY0qwlHSlN+ZGahoHlpjoHSga3BoUjpiFKfaiREWP
oGAaQ4MlnygpI20xBCwQ0ffiOSI1NlhSPMRagDWRDjWyTVPmqCRGGNimiTmW+ncVyNFyoiRYgkqEA2TIewTEfCPEMexBIPA4XdY4VIq7RSiPiMNVvMyj
GBGHqXZKubZlnmgjwiJcxX1DhcJ2OUj9NQVmxyiOiqlD+kPeArMCug5F22LalU23hAu2xW7yF6FsW0J7yns92xIX4O9Qk/xEKoGlqfROtRDDVn9JgVoM
nriIb0PO8U0idFySuc9Nfd8kmGFSAcAuW9gFJGVRWaT9+5YR5HHQ3+pPFahEmClNpPMb80z0xvwOVPZPtCCOjC8K7J/Isyh6C+ZC9SYZkkfx1cMKwZJ3
oOISa+Bq5LnMKSlhYKAWhah/qEBJMuQFyW0e8ke268mbLV5geVXE8YwDo0/1ppB8ERCVK5FiNGk4AqYb+D6AQzEYN4rYuKQtw7pHGOfisiN/qn9dgXJQ
QYW1OGLLgJWgnMA2mSS2mYf8vu+4nmAqXkArkHf7tnCrz6ROr0txMEdVfwQFLtIuuPAxBs7GGZgekyAURxcc4TEUbN33jlZE3FCSrOw0KcLmFSxQ0RqU
XePQ0j1fyJXkVG6hebsSdfMKDtuhx5D97IU3JZguasVsXsEUe7XAo27V/56HAp8WekwFki7yf5OD2FgXTykS5rhTMz2T8oMXoezRTjTfMQWllxhgzzFZ
gIppEMsLL0hKHMCzvkWlsOOEI4cDBXV0YIauLN1JEcFTZB/ztSQNxBo2Y+h4rDlL8GfEWhIJ/rTAEwoPHOIeaWzy7LRUxlUB5IeHdsw+57r666lUMdUy
D83tSqq5XY2b23SO9Ftsx/gxYavNAyKqAZCuOIH5ECkyW658V9Jn25Stxqf9mj5Zc0nTf2EDGmnjnesI8bMM1Md5KfWMtwZl3Ty0HcM7Ggrldy/J0pId
NSUyDtuh71P2EIdEHhv6xrQ+5MkQB61iW5wb2+KQLPIxsghWoBA9AX0d6vQI53r6cCQygcUZbTaAiyTF7Sjqge0MxWVB8hm3J1E3GGakOw5Q/2cBisK4
TAz3fx+KI98Z2a60Mqbc/+5yRCxboCdQYJpdBt8upbdlmp5ggR9ZvlxKKmY+RhHXoDByyIHxUh56eQl9N7LJxdRVEnNI2OKkjSklb8xbMOfZJnF0qx+e
0ctMu9aDCql+o+564Ccx6a6flwkWXJ6IlAlqAhmHFhloLNu2Ku67GKhHXnrUDglnyjvgUmUmAPOU2J0EApphS/N6+tIEdDRBQdTGtmz6zWJ5ZrkCZjCx
NG/CbBDqKrCiEVntgcB7F/JcZs+ddnHOxDjm2MwEC2wEKio9Eac1E4JZ+vM9CBeD4/GIrVoAZWh0rdmNIV/Gq5G7Rb6ElK6PdIcMWEhXslXfZQjy3Cbw
VQy1WAUlhOB2UuEWuStuJd+EWVklV42LzZrA4Kum/kEYzcy127QHQ6Tiz0QU/zUoGK7rB+5NUaLLxX9p8WuYGod2OZBFNfgDg2XLCctAlin/yN9BJ5xD
ZyVcdKOuQoEfWFnSNhnazok23Jf2LQds79NKw9IOTOPwyBOmbcmwNlh52YNycOJBC3Dto+bWXkvDe1vjztNFuB6p+3izs9XSdva2V1u4rqCrMBep7Oy0
tM5GPYOuw2sRcHPnE63X+mGvnl3uctucWcV0VNzstbTuWmc3wWUbqWP+2LoyBu3g9RauZ5ZNgNCko/Pll1JPcXOnN9atCrejlWtb7Rb9g1vrrZ1eu7nV
5ddbURzc2sCt7ia/6apnlv88zCfZXOge3BXdNfd6m7S7tWav3dkZm8EdWExGW21222t1Bd2GhRSEzvon9czyTxVAk+oavQ53uu2nO83eHm5pza2nHdzu
bW6PDX4XbiUhbW4317TuZvNRXUnrR6KsvPuteuY0pHcfrdSzyw7MTZgEdAPClq2dtQ7Lfp24e0zA2Wz9kG9OQp28e1z+qwrMjilytAQ3e+3tVrfX3N7V
Njp4uzlOFTehMYHRba11dtYpPdyFWxO12+2trbZEySR2gDfWHj9+/O16dvlvKUG6oND7lAraO6udvZ11bXcP73a64/R/A66OI3ByV+jyjFcFKaAJzbbb
P2yt17OoAfMTVa2dvXpu+WcK1GK2BaVBidtd22xtT5mdqG/9YI9zz2TVaquJKZ8m9BqlqtgMZVPGEzm6viktH9XzU/qlhFhA1wCN1X/4ca9eXP519o5B
XGnT3ZbI4ZbGv/4W3JhECelFhduT1WMEk9hFSDGfweyYoUWpWLZIYZvI8o0xzSJcn6h5Fdf1/y+XFNZyRHTTO7qoQ/t7UF+zrQPj0HcuFGmoPoO5SAfi
3YhvsTv7fZMM+ZsiKXH4HAUHuOp7UBTAwBxQIuZAarCFOg9o7Yj0jzfZYkingw8FDkDvxKM7ku7mOeYZgztiuj4b1/XqDFTXHd2Q/mN1FmqizJdn+c9C
JTIaZbfNVnOrt5kYTdWA+Vhtt4U/au885bwfq1lvPcXNdfneQrwKN9vsnYNLxVX9nzeT3rgbEsv/SqKq/lEWgEXcrR351vH53PTflIG5mVSPQTQL5m0o
MNNWOl0bqRm8Ag+9D9DXPULtBSLv2BPTdDjSCY6gozWoCZc3u+CXj9slRtwwPO6PEl59VmA+n3gM/Y3U5mH4/Ddk0g53Yl1LfFPrpUzWeRwmB5VSh+AJ
K0FekPoUauJdD7Fx34LSgQBMkRaiDQ5w1Z8qUBTQtGh+FPFDlENPg+TqbPo7Krnzv6MSeeQlH33kRf2HWShvE8u/AJ0+kG+Fpof+cboTr4jGyS57PrIL
mCJ3Jqb4E02lv6NAtUuxvvx84rchR2Wq8AncTMnzZ8SEGab6C1DDxBoQhww4jb0HpYF4OnTKKw7ydVEcIAf5wJkwH1j9rTzkudcyhcvOk/WelFKblAHV
CDO0ODPJIrvTty1P73taNCK1KoA8rPLCuVAyIPO5jGYSJfR1qDPVZFiHGrH0fZPwC7ISnpXwFgfHXuGtjL3C+ybMDg1LhHTyC1d+ZVYbGhYLn+Tv5Aq8
kdE/9kWORY1FXlG8XQZliRbLMEfxwnQVijnDMGkH6zJjheI+hqJnDJmcnU1lhB7DwBITfR+qXvg4iNuop0ZwstS0HX1IcKwFu402huTHdK/mxG20KKM2
zLoj0jd0U5NTQ6n+6C7HFDOccaNFV/0MajEESlYDafOVMfvNHk41bW+a3u+atoc5VlqCs9qGghikDtmBHrgSBvrJOYdQvw85WkS3AFxPdzy+g+JxJwZh
e3eDXZ3xSmGMEn6QUv80lIOlF5mGhz5Vb0HWOC8HvJdJd1JmJ5yU6u9koCTVxRQ9e/6e2SfbjqeFueJZXKYQnjx1HYrG8FALH3MtGMPDPcdEKtR4kpwM
suQSoMKBPMpynGyL5ybbCLeUzsot6i/nITctiTI5KOH0pQpSD3PR1MO7UB3qDhUQvFKkiXLYLkO5BoUXhB1ThP+Bl7i/wnlOXBHvKUr0ZHNg2wOe9lYS
r27a9oClvMU3rDy+YUvsfSN7OKS6SErHKIjJbiYJPZ52xMRjFlcFkCUcobdg7sA3DwzTHFLEoT0g/CXbMq5HKrYpPEoktRiRIMh5+iH3SpYx+z1BFLPn
JooPoX5MTrjglmZPPVVgPSMnTJpzw2fmOFp00X2oC+PrJAhtnWOznZFwEQ77EOajllaAjRj2XMSgEllYR1CLjZ0SONSEmfBrBrqnC5m1OOVbcFV+xrru
6eoKlGTNWd2q6n/LQCViEb5qXrkHM1QlusQkfS+InOaasxsAGZr+MoqWF2j6ywjaClwd+qZniDAqN1D+/GWG11gl/xpXGgBxPimO88k9mAmy5i3TsDij
lXBNZs4z4AS1ls9Lreq/z0Jherrzq5VHobDhSymFTUyoFKYKleIpQqU0KVQiIqAcEwHjCwivhN0rF2T3ezBrjzzt0An5txoE4z91RmGipUVcjww0gc0D
Isu4xsEdhuyqh5Dt6S+DvG4l8lJo8qYGvJgd+y8LsbD83HgOgfr7ChT46ejSg70ONX00Mo0+j+qXOU/VENixksV/PkX8j0+/MDH9X1WgtmeZhut99fkc
l7l8+zulxH8wYU/5VyVf7KOQfzkDFRZVe5FlRZCjUw+8vbbJ3hbnL2RLY5uXJrYgd7YtyCcfQBehTEeLpvGWOKDpoSdQlBG56VHcIkC3p7vHWKKrv6FA
JVLxlTzVegsgeNvYk/a0fNDYU39Jgfkg9zK6cytiM5TUvL4Ittisi74prf62AsC7c33TQx9ASVy/ycu/pZTxyWCbI+KgRYRkMjGSQZAbhlGb7PcFXnF2
oBYbOLgdUSKvpY2/RJ+ZfIk+MZczm5jLeankpVzSu7GOcYl3Y6ffz6s/UwBh4+fjNYVbAOxTo5kgZQZh5+JvAOLV7M5IZs1zGVFnNeziSGTMxzPiCuN5
gv9SgXn23cFLbl/SIx3BnVZ22p1WbvxO6zoUXUKsMBu0QItN7zLU9s+vJnkjxdRTye2UvPyFM+XtLpwla2nhFF/pwlRX1qU8UwtTFfXCdCZd+TcZKOyy
GrQDJZlIhdTEC9xYltXC7VQcbrV/BOXAWYsS///XmC944Y3pSMLf24FKxP2K7iXer4+7ZxdupHph0YeQZy5TlBRpF3WuLiylI/DJrfzNLOS2ieWjHwCw
WTCfIbqV4t3gTqnEfmNuq/vK2wraggK/eEdTr+kTe4vd2LPePo38owfxqjlKDn2M/zeIhbvpz6LL9w2eAeyausUtYZQ0n5iRvDDNX4DakGe+EZT834BC
r8nCaU8MrPy7DFSbEQ5HHSjTiXKHw700f1csQ3v6ZHd4h3zX30jZ9XP0twUl2t+q754k7s548vz03j6B2WA7m5b7gjivastX/lcOCkyBuGgXysE7uYn9
jz/vnihKoo+E/2LkSXjx8i5antZx/HneU/vfg1m6ypGHsBKJYfKhrOnL/YsREzja96tis13OZtweSpzx5OtT02fcgWpAvp1ON1EPjD24NL3DX4C54MuC
Xs/0/dOGlkT3DxQoMNPIPcNaTNqO06fe42sRPJH7tbQ+x+yyqb2u/CQDxaZIxhVikhcTxeQ5JMWnkZUOdOWZVjp9YElo+5G+w9zFaX2PvbZz+hgrv6lA
nh6AXLQm/uPjKWfD6cvRhXIwmcStSzqcLtxKHZKeHy9hwf7/AAAA///HsDL5
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

# The statuses that are not retried, as sdk.FinalStatuses: the request itself is wrong.
FINAL_STATUSES = [301, 308, *range(400, 408), *range(409, 419), 422, 426, 428, 431, 451]

DESCRIPTION = PB["Description"](
    id="python-reference", version="1.0.0", protocol=1, display_name="Reference plugin in Python",
    capabilities=["action_plan", "menu_check", "menu_check_context", "order_translate", "rider_status",
                  "store_busy"],
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
    """Translates an order from the aggregator's format, or the notice that the kitchen may prepare it."""
    try:
        sent = json.loads(request.request.body)
        if sent.get("released"):
            return PB["Translation"](release=PB["OrderRelease"](platform_order_id=sent["released"]))
        lines = [PB["OrderItem"](ref_id=line["item"], quantity=line["count"]) for line in sent.get("lines", [])]
        order, store = sent.get("order", ""), sent.get("store", "")
        if not order or not store or not lines:
            raise Refusal("order: order, store and lines are required")
        if any(not line.ref_id or not 1 <= line.quantity <= 100_000 for line in lines):
            raise Refusal("order: each line needs an item, and a count from 1 to 100000")
        return PB["Translation"](order=PB["NewOrder"](
            platform_order_id=order, store_ref_id=store, order_type="delivery", delivery_type="self", items=lines))
    except (ValueError, TypeError, KeyError, AttributeError) as wrong:
        raise Refusal(f"order: malformed: {type(wrong).__name__}") from wrong


def send(call, method, path, body):
    """Plans a request to the aggregator. Each retry has the same idempotency key."""
    return PB["Decision"](plan=PB["Plan"](
        endpoint="api", method=method, path=path, body=json.dumps(body, separators=(",", ":")).encode(),
        headers={"Content-Type": "application/json", "Idempotency-Key": call.idempotency_key},
        secret_headers=[{"header": "Authorization", "secret": "api_key", "template": "Bearer {secret}"}],
        success={"final_statuses": FINAL_STATUSES},
    ))


def plan_rider_status(request, _context):
    """Plans the update of a rider's status."""
    if request.order.delivery_type != "self":
        return PB["Decision"](skip="only riders of self-delivery orders are relayed")
    at = datetime.fromtimestamp(request.changed_at // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = "/orders/" + urllib.parse.quote(request.order.platform_order_id, safe="") + "/rider"
    return send(request.call, "POST", path, {"at": at, "status": request.status})


def plan_store_busy(request, _context):
    """Plans the notice of how busy a store is."""
    pace = {"busy": request.busy}
    if request.prep_minutes:
        pace["minutes"] = request.prep_minutes
    if request.until:
        pace["until"] = datetime.fromtimestamp(request.until // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    store = request.platform_store_id or request.store_ref_id
    return send(request.call, "PUT", "/stores/" + urllib.parse.quote(store, safe="") + "/pace", pace)


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
    path = "/orders/" + urllib.parse.quote(request.order.platform_order_id, safe="") + "/delay"
    return send(request.call, "POST", path, {"minutes": delay_of(request.parameters)})


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
        "Availability": {"PlanBusy": unary("StoreBusyRequest", guarded(plan_store_busy))},
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
