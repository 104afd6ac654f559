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
eNrcfVtsI8m12DTfPCQlqlYzw5HmoenZWY+1uzM7mn2Mdze2KYkacUcS5SK161077rTIktSrZje3HzMjJ0gC2EAM5yeIAxtIECBODANxECAGEiRAnK8Y
yUeS3wA2ECcxgnwkxgXuBXyB+3NxUa9mN9lNvWZ3jfsl1qlTjz51zqlTp84pwU9ScNUlzhPiHN0bmP6+Yd17cv9eVzfNuwPH9mw0I2rv8tq7T+6r/0aB
zIpummgOCru+a1jEdWvKgnInjYMyrRuYurdnO/1aakG5U8RBGc1C1vVsh9TSrIIXaAuXeJ5h7bu1zIJyp4yDMvoCTBs90h/YHrG6R9ohOaplWdupEPgx
OaKddH3HocVajg8ry8v3P7q3b3gH/u7drt2/J77r1QN/916UAu499unvDHZ3c+zXA/jP83FkGpi6lUimuYl0VX+oQGGVdA3XsC30KmRoX4yIpaXLd8c6
u7tt6tb6BczQ0Cxk3ENjwOlKobSE3oaCSfY8zfa9Wnohfae0dCOuI3/XNNyDhuPYDs7TBi3fWy5C3va9rt0n6r/NQIaORklJrN7ANiyPTayIgzK6BLk+
8Q7snlhbUUIIMgPdOxALy36jh5D9xCfOUS3DJqUmfN3dr1GkhuU5R5g3QF+G/AHRe8Rxa1nW9sWktuscjbeWjehsdu0eZ4QyZr/RGky5pOsQT5Nd5xNp
1WaIvG9ccUMlFz2EvOt3u5T1C2zVrsd1wDGwbxIs0dEClLoO6RHLM3TTrRUX0neKOAxCr1L5IAO3BmxqcfzQ9sgAcyxUhbTvmLUSozn9OfcQYEhNWk8F
hq8h/UkF8Ilu+kSsHi+8nXqozL0N5TAtT9NW/WUOMnRelO6W3ieiFfsd4aZUIjelY7kpE+Im8bHZ4GOH/JVL5C86q8n8lU/kL9Z2Mn8VQvw1D0Uqoxqr
KC4odwpM8VnLtBJBZs8wTbauRcx+o9cgw5Rkic3gaswM1mynv2YQs4cZJmWPge54bq2cyB7buuNhjkUH3f+2MahV2GTY7xgpmDqTFIzw8vQ4L4fkpHo6
OXkZMp5+SGoziV/Z0Q8JZkjoLqXJPnFriA1Si6XJPnExR0O3oOIQ3yWaS7q21XNrLywodyq4zIBtDvucxOjvKZChXxYrRjeh/LFrWxoTHOKI1iUK2+Yg
dA2grz/TTGLtC01cwcW+/myDAagg2gPPsC3dZIJVwEGZCiJfXyZfBSxK6htQDJgwdlqxX6P+RIEM5cQkhbBnmITBhUKQZfqVXdvyiOVp3tFA2gklAesc
DRhxPPLMk7qB/kY1yAsUNv8ylsWoVOaiUqlakGW8gW7DVNd3XNsJyMsnXOFQSWA6O47G9Y5YAw5jDEPHo2vAWZIvQaGvP2PDqB9BOSxTlOpcCsVwohRa
DbHJ8hKlnEf61JqSlAnK6j9QoBSSJmZUebrnu4SaaOk7WRyUT8JLN4AVNfKJT+WbjwYU1GAQSrI9w9JNLRglw0apMGhbANUfpaCAiTuwLZew72IV7Huz
WJTQ8lAdp5jM34mRYtnLMSo5HVLJCDJ0o5SsQn+jNyBPdMc0iCNMi/kJY2GJS/mcrynda8pCmZxX2qtNSuuBQzxMPvGJ61HVR03FCfYgtb8xQ0JvQcER
E2XdH/MtATJdB71LJV9uu7yk/k6BKWEmtrhRiN6gFgnlNzqjqdhtQqDSJSeYY1OB7BPX1fflh8siegtyhJqg7klNVYGOrkLRIXuEWvRErOgQgJbgInk2
MBziavqeR5xAvWeZDL4gKuu0Tmh59V8oUA4PRelCdy9PrqAooYuQc8ieZkijN+uQvSbTh127J0WR/Q5/eCb64V+mp5wnxKHdZxkx4wyWNcPqGdZ+W2Di
oM3iDxQoh0mNrsGV1k5npbXZ0Nqdeqeh7Wy1txsrzbVmY7V6AV0CFK1ebW01qgqqwWwUvlZvbjRWqyl0BS5Ga7YbW6vNrUfVNLoML0SrcKODP6xmFvsw
PTJltABX15qsodZuvN/Azc6HI1Obg0tjGA2MW7iqoKtQG6v7oI636DxS5znJ/dcM3Bg/mInDz6kOc8PTn/rvUzCNycB2PNKTIhNhVGWcUTOHhsU5aSrW
JhL9PDasHma4aAHK7KSsCS4U2pjBMGPFRZiRh2yNoxo9wYDTsqJN4c3eUKSzZxXpXJJI508l0ot/C0qhj6VLL5nscXNrdYRpLsJMpHazsbVTVcJSwMDt
Tgs3tPpKp9naqqbG+mx2GpuyNn0edvr1fbgWw05Ojzhn9AzMHceex/Di34Bqx9Etl5oDZ9pP3oG8w9uJ7eRmDH7T2rV9qycGwLKF+j9SMBWto/qRsbow
/hgrL8szG9/oXzl2hJjT2/rQXOB7yN3je5lsNGRCRsMNKDmkS4wnpKfp3J5MY5Cguvc5HQ7+TxZKcnkN20IPIMuYTSxt3M6/RZ62KMr6Bcxx0RzkjX3L
dkgvcCFJAGpAuatbXWLyAZiSiZfllRDa+gUcaYa+AgXKTLt695CRNZ6L6szgWBGI6xdw0Ai9Btk94nUPmJaJP9Ct0Xr6VQyRnuaFnNTyrI0aawZFtDT9
ctEIrQzVK8WZ5NbhGpdirV/AJXdYpJ30ieVrUoKKiZ1sEssXbEk76Q+LtBO2UJo/6FENDYmdsIXdYVi0E3tYRO/Sw5DvUAu3xNovxK0hxwi+RTbhSsAk
uktq5UQOYKNjjkYbixZ0a3HIwOQGTnzTQC4H5hHm2MtFurXolmHtq/+THmNCZB3d+pSTbX2p+K3vgdz60mzru5a0xJGN7xK1/nTXtsSGKkpUVn3LM0yh
IniBqg+7yzzPTH3kuPqQoLqnfgNKIQ54vh+o/jXIMuGgiv8EjmXhVg6PwPlvfAS25M2e+gsFLgfbDBuL9D7z3SZy9Emf4uijVmEqqnvU3ypQDjPlyCm1
EpxS10ZPqa8cw96nOKmqUJGE1/q6cyhYjct1s7epO4fn2j0wlMNaO37FldgVD/F/Ksz/6n9QoBJRI6ftVVBZ+jg4laXHKB11Mg0ObEseqXiBHqhMu8s3
q2yi3hcz3BCYOGijfgOmRyrRHBQogTy/Jy33oEzNetO29nkln/MQgKYgpXts0mmc0j31xwqUQjr6VKSZh2L3QLf2Q4Je4IDIaqQj2ui+tAcyx9oDwhpQ
34ZyWJGfZo7qb/NQkP2d6uNG9V3qZPouHa/QrwHwAZm3UHgFGIT5Cm9BpUdMg9KBY/Dbg7IEMiQVKoar7frmIZ+8cBOWDHfZNw/5F74Fha7venafOMLG
iCPwikDBATJagqzhkb5bKyR6+TllPNLHHBU9hHz3QHf2Cb8jmmAA1Pu2b3lYoqPXIevpz4i8PzquHUdG70KxZ7hdCnLFbcRxLYcN0OuQH+hHfWJ54lpi
LtYFzzCwRKVs3LX9gW2x24kiFiWkQtmwXM/xmZJ2a1N8wcIw9DLMBKtKhcsz+qQ2zUSvKitWBRzdhinOIa6/69mebrLbiCLm+rYtgJRT2A9NUn6GD8yA
K4K8N6DEkTiREWddBuowSs5BQRKG3SsUcVBmhgFnVTaLWd6Y8yqbwm2YGuhH+q5JNJ1RuXaRz1RAOekpy/cMd2DqR1QuLnGWF5Bmjw4zcMhAd4i2Zzu1
y9z+EKA120HXIN/1PZOewWqU0ZnxxwHfU5RlgIImiurfVqAgeTrJ+88VcyqsmGchS/q6YcpbflagfKL3eg5xXaGi4vikzjGwRFX/uwJ5AUQXIWcaFtHu
izlkael+AF6Ss6ClJa7LrR7bTdNSl/My89wZ3pF0DNPf6CaUXX9Xo9uDKX10RVxy/d0NAaI77sCwhPuD/oxsGPlJG0ZhZMNQ/7cCxUDyQx5GJexhnIPC
J77OXZIpHmchy4z2jtENYilYgUI9wzODrZIVxqQqGyNVDyHPr4NccZ+aqANaDA1LdHQZ8mwBjJ6gAVuPZk/9l3IT5C0+7a8MzSMbngeahxzlfoub49n1
C1iUKcMXIa/xkqqL6QpJC0ZRwqPEGlmUo5zhtQz7HfiHM0P/sPoh5LeHKpBTUHqbeYl557n8C8uIl9B1KLnOE0fznGfDHbFIQR3nWbOn/rsUZPludQUK
kW04jfPCkDyNqf+c3Y7RrTp77FadO8lWnR/fqs+w46q/TgGqdw8t+6lJevtn857dlQZYKtFvEba+KNfr3S4ZeIRTtoCDcuKRcx6KVJNrbMfjx84CBXTo
TsccVxRNY1zH6QcctGL3CF0Bbkayk2meNReWZq/uobswa/ueZu/RpeweilXndCziqu17rb02rWFr76KXYNqwnuim0QtQeUhLRYA5nvqbFCD25fxS8DMh
7vB0kY6cLpKvZ6LEyY4S5yaUGeX7huV77BqQIrCtdpODRumfH6P/p0XgP1VgmnKz22q1PxPqLkCZyk0wqzSbFVCYmPqLMMW1WYCTYThlDhVY1wB007Sf
aqRnyMiDIoM0eobHCcq9diFXigTVPfVnoQ//1C4sX4dL0prX+rp7SHqa5fd3iSNYa1bWbrLKLVYnTYVMYCos2gBD3xKah8v8piLu6m4WquHK1nZjq6qg
S4DC0JWNVptd243At+s7FH6uy43/kofr43cN/Jb4rLcbk29Ljrnb+DspqHC/zWelPuIuyHnsSX8wjD3pD9BLUH5KdMew9hl7cDZev4BLAkrZ4nuKMrSV
c2Fb+TrAQHf0PvF4MJpyp4xDkOVpqGjh7tXvKlALwgakE+uzv+75o2BBPjXBY0E5QvA45dIyKIdDtxkFh2uViaxVrKWTjbd0YqKMc7FRxoGDO38aBzeq
j/j1Cyfx60e8+ueR5n+ehRdjpPmJbpj6rkFPNmeNZf5fCiCm1M4hm8/XIYQgYw+IJQLc2O/jtvarAJ7vWJptDXeZAoW0rLqn/jwFM3SP+YP5wqtQFEsn
zj90z5SAsa05e4KtORe/NU+yFaM0K0Rpdh5e/f9ZmB9nuY+feslZCf8wDeX3XNv6gOx27ENihcLnlEj4XAPKh+RII1bX7hnWvgjBiHMah7t7TI5w6ZAc
NUQz9C7kuqZu9OXt84vHdLBCkbFog1oRhc8j4+8d08Pd7aAFv0sIdYG+CFXT2GPOrpGgp2kJFwFPoXjDXCTeMBxXmI/GFc79FZgeGf1UFw82zIzR4uSB
pKGlTEeWsgZ5kSIi7XhRXBzA9MjqIRWuv9dubWkfNJa1TutxY0t73IgJSYrBwfUPeIhJTN1yvd148/XzxST907twa5zbe8TtOsZgsrE1SUrUGZheZZ3s
yrOs+v0slFaHHaMpSAV+mJTRoxR9QhzXCK55ZJEl9NBeu7YpI1plmR6LpDOSrai4thKwLbqwKpS7+oBvNAaRGikCQ8sAT+yuvuub+sRw/vcDpEeO7Q9w
qBV6CHlduLfyif4rYbLs7REHS3S6+8t8I83tHpC+LgL7pyS4zaDoS1CUqQvSNR93DdAQOHiIjR5QhqWsK33zVxID7rHERK9D3uDWhHDLz02wNyQqug85
0+gbLE1ASRhpgyFggYi+Eo3mr7DB4m7HVwKsscSVgW2aMpsg9r7ZNk3MsdR/pkCGlmM1wQKUQhIgg5NDIOYpJ45h9wKFx/mywqFS3c1DcUAcvqHKiPcB
cdhGSjnXtswjbUBY9KI4fZYobJuD1B8oMD3CcVRN7dMf0ifICugy5G1Lo5ssm24B52yL+XXnoWhbmnDzCS+PbQl36OuQOSRHchNYmMjvdBdi2Op3FKhE
4LFEfA0yjm8SscfFOcHepwqWJV4wTKoA2NGbuaOoiMoi7d+3jCDinv5Wf6pAKSRMSSqd+09TYf/pDSjtHmlBjBAnCuweybMMehlmhtubFEgeoVUdVgiR
vAEll1g9VyNPZPR/AQMDNShE/Y0CBSmQZ2S3Wcge2K4n/Ry8wDJgiOMZe0aX7ptC84VAVK+EiuHcxRCYLuA7AA7FYNIo4p7ilgzrHmGSi4uO/Kn2oBjA
qa4WJzQZvRCUY6QmFSc1s5Dd9R3XEzLFC+o3IMe10xlpGJHFdFQW1T9TAIaa5YwjPICcrfvewZIICIlTe606RVi/gAUqWoGia+xbuucLFVFauhUbSMJo
2Jao6xfwsB16AOmPn3oTYp7CBsn6BUyxl3M8OFL9f1nI8WmhB1S36CLpMj46iXXxiCJhjjsxvS4uKXMeih7tRPMdUzBtgQF2HJNFHpgGsbzhWbnAAc0e
ugUVUSlMMuGh50DBHS2YopSlKylCM/LsY74Qt5mwhvUIOh5pzlKGu/ZA3qDxAs/i2nOIe6CxybNwuyIuCyA/BzQjpjbfdr+YyBUTjeyh5VxKtJzLUcuZ
zpF+i+0Y3yaM2vymuxwAKcUJzA6RQrPl++hS8mzrstXotF/Qx2vOacXPrUEtabxTnQZ+n4LqqCwlHtdWoKib+7ZjeAd9sY/djjOaZEd1iYyH7dBXqXiI
8x4P+ntxUh/ykIeDVpElzows8ZAtshG2CCiQCx9mvghVehpzPb0/EOmX4rg1HcBFZthmGJWe/sUpO/642pGoawwz1B0HqL/LQV7YibFR2e9AfuA7A9uV
BsMEV+A2R8SyBXoIObZJy6jKheS2bNMmWOCHyJdJyH/LRjjiEuQGDtkznsnzKy+hL4cWOZ9IJTGHmCWOW5hC/MK8DDOebRJHt7rD43aR7ZTVoEJupeF7
WOCHKnkPOyvj4Lk+EZHt1Jox9i3S01iKY1k4ihioQ5551KQYzpR3wLXKVADmeYhbMQw0xUhzK5k0AR+NcRA1ly2bfrMgzzTfgBlMkOYlmA5iGAVWONSm
2RN4b0CW6+yZ43yoTI1jjs2sqcBGoKrSEwE4U0Mwyzm9DUNicDweilMJoAyN0pq52jgZL4accpyElK8PdIf0WKxOvIHeZgjyCCbwVQyVSAVlhMCtp3Dj
2hXuvJdgWlZJqnG1WREYnGrqL4dhqnx3m/RKg9z4U6GN/xLkDNf1g3srUaLk4r+0qEelwqFtDmTX1X7PYElNwjKQZSo/8nfQCZfQaQkX3ajLkONnT5Yp
S/q2c6T1d6WtygGbu7TSsLQ909g/8ISZWjCsNVZe9KAYHF7QHFx6v76x09DwzsboPdo8XA7VfbDe2mhoWzubyw1cVdBFmAlVtrYaWmutmkKX4YUQuL71
odZpfL1TTS+aAEPri3bNXUGPcH2rMzKuCtfDlSsbzQb9gxurja1Os77R5k6lMA5urOFGe537l6qpxb8Js3HmEboNN0V39Z3OOu1upd5ptrZGZnAD5uPR
luvt5kpVQddhLgGhtfphNbX4UwXQ+M6KbsGNdvPRVr2zgxtafeNRCzc765sjg9+Ea3FI65v1Fa29Xr9fVZL6kShLb7xZTR2H9Mb9pWp60YGZsd2bLsCw
ZWNrpcXyCcc8fjE4642v88WJqZMev8W/r8D0yJ6LFuBqp7nZaHfqm9vaWgtv1ke54irUxjDajZXW1irlh5twbax2s7mx0ZQoqdgO8NrKgwcPvlRNL/5j
JUjAEls05YLm1nJrZ2tV297B2632qIBcgYujCC28ysRjDi6NVgVJdTHNNptfb6xW06gGs2NVja2dambx9wpUImYA5UGJ215Zb2xOmJ2ob3xth0vPeNVy
o44buJqK6TXMVZEZyqZMJjKUvgkt71ezE/qljJhDlwCN1L/3QaeaX/wRy/OO7q90tSXycEmjX38NroyjDPlFhevj1SMME9vFkGM+hukRm4hysWyRIDYh
8o0IzTxcHqt5Hk7yP8/EBSMcEN30Ds56cfkVqK7Y1p6x7ztnivZSH8NMqAORV/8m85TvmqTP31xIiIXmKDjAVd+CvAAGO7cS2rkTr8jVWUArB6R7uM6I
IV39PuQ4AL0evZOP84hzzBNeyUe25XR0W1anoLzq6Ia8I1WnoSLKnDyLfx1KodGouK036hud9dgYmBrMRmrbDfx+c+sRl/1IzWrjEa6vygz2aBWuN1nm
+LmiYf7j7bg3wPrE8j+XWJh/nQZgUU8rB751eLqr6FdlcGQq0U8fzkR4DXLMCpVXnbXEnEiBh94B6OoeofYCkZ7t2FQJjnSEQ+hoBSriapq51eXjX7Fx
EgyP3wKJm2tWYDct0TjmK4nNhyHMr8jECX51dCn2zaFnMmHiwTBBo5A4BE8aCHIz1EdQES8liIV7Ewp7AjBBW4g2OMBVf6pAXkCTIqpRyPtfHPr3pVSn
k1+myJz+ZYrQsxnZ8LMZ6s/TUNwkln8GPr0rHwpMDtjifCeeEIyyXfp0bBcIReZEQvGXmkt/pkC5TbE++5zO1yBDdapw319NyJxmzIQZpvpNqGBi9YhD
epzH3oJCTzytOCEvXr6+iAPkICczNczJVH+VgSy/K0yQstNkHselNcZlodSGWTJcmGSRud9ty9O7nhaOIywLIA+GO3M+igyje0LE23WiRM/2bGsyrH2N
WPquSbgvq4CnJbzBwZEnOEvRJzjRSzDdNywRiMd9o9y7VekbFgt6Y0d6iTcwuoe+iHOvsOgiirfNoCzYfRFmKN4wZYBiTjFM2sGqzBqguA8g7xl9pmen
EwWhwzCwxERfhbI3fG7BrVUTswlYetCW3ic40oI5jo0++TZdqxnhOBZltQk5PiCqQrqnB+7znn7EHoE0bW/SHt02bQ9zLPWrkKFFdA3A9XTH46QQ784w
CCPCFeYu4pXCqiP8RKL+VSgG3yDSpvZ9uk8EKbC8HDBxKvliLj12Maf+LAUFqXcnbFin75l9su142jDxNY2LFMIzQS5D3ujva8NXI3NGf3/HMZEKFZ7x
IyPyuCiVOJCH5I2uf/7U6x9iu8JJ2U79bhYykzLC4u/UjydVkEeVCedR3YRyX3eopPFKkfPGYdsM5RLknhJm7wufOy9xH73zhLgiOFCU6BFhz7Z7PIen
IJ73s+0ey9+JLlhxdMEW2NMrdr9PlbpUM2EQU4JMpXg8h4LpmTQuCyDLnkAvw8yeb+4ZptmniH27R/iTmUVcDVVsUniYSSoRJkGQ8fR9fhNXxOz3GFNM
n5op3oPqITniGlDaD9XE+I/H5IipRW5BTB2Giy66A1VhxRwFsZwzbLZTEi6iOe/BbNhkCbARw54JWSYipeQAKpGxE+Je6jA1/Jqe7ulCZ81P+BZclp+x
qnu6ugQFWXPSq0T1/6agFDKtnres3IYpure4xCRdLwiz5VtQOwAyNP1ZGC0r0PRnIbQluNj3Tc8QUUBusIvyNPMXWCX/GlfupFE5yY/KyW2YClKALdOw
uKAVcEWmATPgGLcWT8ut6q/SkJucu/l89dFQ2XBSSmUTUSq5iUolf4xSKYwrlZAKKEZUwCgB4bmIe+mM4n4bpu2Bp+07Q/ktB5Hbj5zBMGvMIq5HeprA
5vF8RVzh4BZDdtV9SHf0Z0GSqhJ6xDB+UQNZTIcvtUcDzjOjAefqLxTI8WPGuQe7BRV9MDCNLsuSD1I+ykNgy4pX/9kE9T86/dzY9L+vQGXHMg3X+/yD
/8/jxfpdPvYle3vCg/+f7nt1fzcFJRYUehayIsjQqQc3nLbJHjHmT/HKG05eGluCzMmWIBt/kpuHIh0tnJNY4IC6hx5CXgaUJgchi/jSju4eYomu/hMF
SqGKz+UVyWsAwSOqnrSn5cupnvodBWaD1LPwyi2JxVAS05pC2GKxzvp4rfoEgPfm+qaH3oWCcGNJJ9pCwvCkt8kRcdAixDGpCMcgyPSHgYrst+pAJdJN
4DNQQu84jb5fnRp/vzo2Ly0dm5d2rkSaTNz7lI5xjvcpJ3ut1d8rgLDxh5HnfQ2AfWo4K6HIIOyQ+wogXs08KTKflwt8ldUwd4rI5Y3mQuVGcqHU/6TA
LPvu4I2pz+j5gMDTk57k6cmMenouQ94lxBrmwuVo8XxpW388G3dHJ6aeyG7H5BjPnShrce4kGTRzx9wgzk284DnXfc3cxF13brKQLv23FOS2WQ3agoJM
6kFqrFszkvEzdz0Rh5vg70MxuMJEt2KfTovekM69OBlJ3IK2oBS6lES3Y73Oo5eWc1cS7ybRe5BlF4koLlQsfOU4t5CMwCe39I/SkNkklo++BsBmwW7S
0LUEnz+/qontN3KZc0d5TUEbkOPuaDTReR3bW8SPzXr7KPQ8vHg9GcXH7kXfkJ+7mfz8sszVfgywbeoWN2tR3HwiFu/cJC86akKW3Rig+P8hMrxLmDsu
XXrp+yko10MSjlpQpBPlbvjbSbdAkdzcyZPd4h3yVX8xYdVP0d+HMB0sQN1ynxLneS3S0p9kIMdUvou2oRi8uRnb/+jDz7HCH34++Fuhx6LFK55ocVLH
0ac+j+1/B6YpnUOP6sQu3/ijO5PJ/a2QBRru+3kJxjYXDG7BxM54/CWbyTNuQTlguFarHau5Rx5vmdzhN2Em+LKg1xN9/6ShJdP9KwVyzJhxT0CLcWtv
8tQ7nBbBc5tfSOpzxJKa2OvSD1OQr4tUTqHYeDFWsZ1Ctj8KUTrY3U5E6eSBJaPthvoeZr5N6nvkrY/jx1j6sQJZemRx0Yr4z27HHM0mk6MNxWAysUsX
dzacu5Y4JD2/ncPm/IsAAAD//1WAnmc=
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
