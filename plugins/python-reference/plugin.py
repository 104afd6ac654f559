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
eNrcfVtsI9l1YBffPCQl6o66m61+qaunZ9qame5p9TzaHq9tSqJanG6J8iU145n1urZEXkk1KlZx6qFueRe7C9iLNbw/u3FgA/5KEGOA2AgQAwkSIP40
kp8EyFcAB4iROEB+4q8ATpCfILivYhVZRb16Zox8iffccx917nndc8+9gh+k4IpLnAPiHN4dmP6uYd09uHe3q5vmnYFjezaaEbV3eO2dg3vqHyqQWdZN
E81BYdt3DYu4bk2ZV26ncVCmdQNT93Zsp19LzSu3izgoo1nIup7tkFqaVfACbeESzzOsXbeWmVdul3FQRi/CtNEj/YHtEat7qO2Tw1qWtZ0KgR+RQ9pJ
13ccWqzl+LCyvHTv/bu7hrfnb9/p2v274rte2fO370Yp4N5ln/7WYHs7x37dhz+7HEemgalbiWSam0hX9bsKFFZI13AN20KvQIb2xYhYWrx4Z6yzO5um
bq2dwwwNzULG3TcGnK4USkvoc1AwyY6n2b5XS8+nb5cWr8d15G+bhrvXcBzbwXnaoOV7S0XI277XtftE/aMMZOholJTE6g1sw/LYxIo4KKMLkOsTb8/u
ibUVJYQgM9C9PbGw7Dd6ANkPfeIc1jJsUmrC1935MkVqWJ5ziHkD9AXI7xG9Rxy3lmVtn09qu8bReGvZiM5m2+5xRihj9hutwpRLug7xNNl1PpFWbYbI
+8YVN1Ry0QPIu363S1m/wFbtWlwHHAP7JsESHc1DqeuQHrE8QzfdWnE+fbuIwyD0CpUPMnBrwKYWxw9tjwwwx0JVSPuOWSsxmtOfcw8AhtSk9VRg+BrS
n1QAD3TTJ2L1eOFzqQfK3OegHKblSdqqP81Bhs6L0t3S+0S0Yr8j3JRK5KZ0LDdlQtwkPjYbfOyQv3KJ/EVnNZm/8on8xdpO5q9CiL8uQ5HKqMYqivPK
7QJTfNYSrUSQ2TFMk61rEbPf6FXIMCVZYjO4EjODVdvprxrE7GGGSdljoDueWysnssem7niYY9FBd79uDGoVNhn2O0YKpk4lBSO8PD3OyyE5qZ5MTl6C
jKfvk9pM4ld29H2CGRK6Q2myS9waYoPUYmmyS1zM0dBNqDjEd4nmkq5t9dzac/PK7QouM2Cbwz4lMfp/CmTol8WK0Q0of+DalsYEhziidYnCNjkIXQXo
6081k1i7QhNXcLGvP33MAFQQ7YFn2JZuMsEq4KBMBZGvL5OvAhYl9XUoBkwYO63Yr1F/oECGcmKSQtgxTMLgQiHIMv3Krm15xPI073Ag/YSSgHUOB4w4
HnnqSd1Af6Ma5AUKm38Zy2JUKnNRqVQtyDLeQLdgqus7ru0E5OUTrnCoJDCdHUfjekesAYcxhqHj0TXgLMmXoNDXn7Jh1PehHJYpSnUuhWI4UQqthjCy
vEQp55E+9aYkZYKy+psKlELSxJwqT/d8l1AXLX07i4PycXjpOrCiRj70qXzz0YCCGgxCSbZjWLqpBaNk2CgVBm0LoPq9FBQwcQe25RL2XayCfW8WixJa
GqrjFJP52zFSLHs5QiWnQyoZQYYaSskq9Dd6HfJEd0yDOMK1uDxhLCxxKZ/zNaW2piyUyVmlvdqktB44xMPkQ5+4HlV91FWc4A9S/xszJPQmFBwxUdb9
Ed8SINN10LtU8qXZ5SX1lwpMCTexxZ1C9Dr1SCi/0RlNxZoJgUqXnGCOTQWyT1xX35UfLovoTcgR6oK6x3VVBTq6AkWH7BDq0ROxokMAWoTz5OnAcIir
6TsecQL1nmUy+JyorNM6oeXVHylQDg9F6UKtlydXUJTQecg5ZEczpNObdchOk+nDrt2Tosh+hz88E/3wL9BdzgFxaPdZRsw4h2XVsHqGtdsWmDhos/Ad
BcphUqOrcKm11VlurTe0dqfeaWhbG+3NxnJztdlYqZ5DFwBFq1daG42qgmowG4Wv1puPGyvVFLoE56M1m42NlebGw2oaXYTnolW40cHvVTMLfZgemTKa
hyurTdZQazfeaeBm572Rqc3BhTGMBsYtXFXQFaiN1b1bxxt0Hqmz7OT+PAPXxzdmYvNzos3ccPen/kkKpjEZ2I5HelJkIoyqjDNqZt+wOCdNxfpEop9H
htXDDBfNQ5ntlDXBhUIbMxhmrLgAM3KTrXFUoycYcFpWtCm82RuKdPa0Ip1LEun8iUR64X9CKfSxdOklkz1qbqyMMM15mInUrjc2tqpKWAoYuN1p4YZW
X+40WxvV1FifzU5jXdamz8JOf/8iXI1hJ6dHnFNGBuaOYs8jePG/Q7Xj6JZL3YFT2ZO3IO/wdsKc3IjBb1rbtm/1xABYtlD/JgVT0TqqHxmrC+ePsfKS
3LNxQ//ykSPE7N7Whu4CtyF3ju5lstOQCTkN16HkkC4xDkhP07k/mcYgQXXvU9ocfD8NJbm8hm2h+5BlzCaWNs7yb5AnLYqydg5zXDQHeWPXsh3SC0JI
EoAaUO7qVpeYfACmZOJleTmEtnYOR5qhL0KBMtO23t1nZI3nojpzOJYF4to5HDRCr0J2h3jdPaZl4jd0q7SefhVDpLt5ISe1PGujxrpBES1Nv9we+jgO
GZjcLMd/csBNA/MQc+ylIlWIumVYu+p/hSybE5W3Y8TzRDQvrLTZ+gw9jEBpswVs9tSfKHAxkG42Ful94kIe8TjTJ/A41SpMRZdc/YUC5TBVRzYHlWBz
sDq6OXj5iPU5wQZBhYokvNbXnX1hMks2p/q67uyfSWgxlMPCEr/iSuyKU3o4RHdtS24CeUn9RR4KUrJP1OGoF5E6nheRjvcirgLwAdk+XfjjDMJ26Teh
0iOmQZeJY/C4XVkCGZIKFcPVtn1zn09ebNBLhrvkm/v8C9+EQtd3PbtPHCHdcSy3LFBwgIwWIWt4pO/WConxNU4Zj/QxR0UPIN/d0x26zyuyVteSWtX7
tm95WKKj1yDr6U+JjNwe1Y4jo89DsWe4XQpyRRzwqJbDBug1yA/0wz6xPBEQnIsNfjEMLFEpX3Vtf2BbLC5YxKKEVCgblus5PpNTtzbFFywMQy/BTLCq
Pd0jntEntWlmIauyYkXA0S2Y4hzi+tue7ekmiwMWMRe5tgBSTmE/NEn5GT4wAy4L8l6HEkfiREacdRmowyg5BwVJGBbRK+KgTBsLVmWzmOWNOa+yKdyC
qYF+qG+bRNMZlWvn+UwFlJOesnzPcAemfkjl4gJneQFp9ugwA4cMdIdoO7ZTu8gdBwFatR10FfJd3zOp91OjjE5tkAB8S1GWAAqaKKr/S4GC5OmkuNtg
z7YCncMKFEr6umHK8zVWoHyi93oOcV1hkeP4pM4xsERV/0qBvADSDbBpWES7J+aQpaV7AXhRzoKWFulamLrVYwpVhKlkme2Z6Q5YhGTob3QDyq6/rZl2
Vzfl7riIS66//ViAqNIdGJbYeNCffBDP8Pwet/psEF6mOzDTtnZ5ZYGvUwBQ/06BYiD5ob29Et7bz0HhQ1/nwYAUP+GUZUZ7x+gGp5isQKGe4ZlSF/LC
mFRlY6TqAeR5INYVJxmJOqDF0LBERxchzxbA6AkasPVo9tTfU6AUavFxf2VoHtnwPNBlyFHutzy2dNm1c1iUKcMXIa/xkqqL6QpJC0ZRwqPE2lnKUc4w
IMp+B5GZzDAyo74H+c2hCuQUlHEeXmJxMS7/wuTyEroGJdc5cDTPeTq0iEUK6jhPmz31j1OQ5dbqEhQiZjiN88KXOIm394w3/FFTnT3SVOeOY6rz46b6
FBZX/esUoHp337KfmKS3e7p96x25FUol7hjYuMNdUEHvdsnAI5yyBRyUQ15XJux1sXMEhww0ZvH4nrBAAR1q6diWkaJpjOs4/YCDlu0eoSvQ3dOtXb6l
zLPmRQGpe+gOzNq+p9k7dCm7+2LVOR2LuGr7XmunTWvY2rvoBZg2rAPdNHoBKj9Mrggwx1N/ngLEvpyH4z8R4g7deBFbFm58cmA0SpzsKHFuQJlRvm9Y
vscC8BSBmdp1Dhqlf36M/h8Xgf9ZgWnKzW6r1f5EqDsPZSo3wazSbFZAYWLqz8MU12YBTobhlDlUYF0F0E3TfqKRniHP/IoM0ugZHico3y/TNcnJGAgH
1T31h6EP/9iOCl6DC9Kb1/q6u096muX3t4kjWGtW1q6zyg1WJ12FTOAqnCXK9608XBsPuvHjktOG+SaHDY8I8v2fFFT4TvqTkua4kyJ+CNsfDA9h+wP0
ApSfEN0xrF22Wpyr1s7hkoDSVfqWogxd11zYdb0GMNAdvU88npVBN+khyNI0VLRw9+o3FagF52cyrPDJxz1/FCzIxyYH7HRayAGnXFqeTnPoJqPgcK0y
kbWKdTyy8Y5HTLpdLjbdLoiZ5U8UMzuDKP5uFp6PEcUD3TD1bYPuEk6bkfe3CiDmK51BsJ5tcAVBxh4QS6RpsN9HmckrAJ7vWJptDTV2gUJaVt1Tf5yC
Gaqvf22+8AoUxdKJvQS1PxIwZuayxzBzuXgzN8nvitKsEKXZWXj1H7NweZzlPnjiJefWfj8N5bdd23qXbHfsfWKFkkCUSBJIA8r75FAjVtfuGdauOEiM
C3mHu3tEDnFpnxw2RDP0ech1Td3oyzOU54/oYJkiY9EGtSLamud33j2ihzubQQsemg11gT4DVdPYYYGjkaP7aQkXx/ahrJlcJGsmnB2Tj2bHzP0nmB4Z
/URxXBtmxmhx/HSo0FKmI0tZg7xIdJY+sSguDGB6ZPWQCtfebrc2tHcbS1qn9aixoT1qxBysx+Dg+rv8oDSmbqnebrzx2tlO1v/3S3BznNt7xO06xmCy
pzRJStQZmF5hnWzLfaH67SyUVoYdoylIBTGNlNGjFD0gjmsEUXNZZGnptNeubcq8LFmmWwwZ2GMrKk4BBGyDLqwK5a4+4IbGIFIjRWBoCeDA7urbvqlP
TEp9J0B66Nj+AIdaoQeQ10WoKJ8YCxL+xs4OcbBEp6ZbZs1rbneP9HWRnjolwW0GRZ+FokzAlWHuuJB6Q+DgITa6TxmWsq6Mc19KTBvFEhO9BnmDuwIi
xD03wVmQqOge5Eyjb7BkVyVhpMcMAQtE9MVoTmqFDXY1zqoFWGPp1wPbNGVObOzxnW2amGOpv6NAhpZjNcE8lEISIFPsQiAWdSaOYfcChcf5ssKhUt1d
huKAONygyrzNAd3S2w7Ll7Qt81AbEJaDI3ZyJQrb5CD1OwpMj3AcVVO79IeMr7ECugh529KokWXTLeCcbbEY6WUo2pYmQmYiYmJbIrT4GmT2yaE0AvMT
+Z1aIYatfkOBSgQeS8RXIeP4JhE2Li6g9A5VsCx9mGFSBcC2sSy0Q0VUFmn/vmUEeaP0t/qRAqWQMCWpdB6LTIVjkdehtH2oBSfdnCiwfSg3IuglmBma
NymQPM+gOqwQInkdSi6xeq5GDmQOawEDAzUoRP25AgUpkKdkt1nI7tmuJ2MGvMDyuInjGTtGl9pNoflCIKpXQsXwDZwQmC7gWwAOxWDSKE7v45YM6x5h
kouLjvyp9qAYwKmuFtsreRgclGOkJhUnNbOQ3fYd1xMyxQvqf4Yc106npGFEFtNRWVT/VQEYapZTjnAfcrbue3uL4nw9Tu216hRh7RwWqGgZiq6xa+me
L1REafFm7Lk8o2Fboq6dw8N26D6kP3jiTciBCDska+cwxV7K8RQf9bsZyPFpoftUt+ji6tBUrP5lXTykSJjjTrwkEne16DIUPdqJ5jumYNoCA2w5Jq3s
mgaxvOFGt8ABzR66CRVRKVwyEe3mQMEdLZiilKUr2eXZMHn2MS/GGRPWsB5BxyPN2cW3rj2Qp1G8wO8i7DjE3dPY5Nm1kSIuCyDfBzQjrjY3u59J5IqJ
TvbQcy4les7lZ+s5/yoF1VG+S9zaLENRN3dtx/D2+kLn34pzMGRHdYmMh+3Qlygrib1RmvXx/KQ+5IYIB60i5MhEyREiYTZCwoACubDj/xmo0p2L6+n9
gbhwI7Ym0wFc3AVYD6PSnbLYkcZv7ToSdZVhhrrjAPX/5yAvfKrYPLy3ID/wnYHtSuM6Iea1yRGxbIEeQI4ZNCIIPJ/clhk4ggV+iHyZhBsP2QhHXIDc
wCE7xlO51+Ml9IXQIucTqSTmELPEcQtTiF+Yl2DGs03i6FZ3uDUtMqtSDSqk2Qmf/wHfgMjzv1mZ+chlT+QyUstv7Fqkp7FLLWURVGGgDnnqUfM7nCnv
gOdtTAVgfvNkI4aBphhpbiaTJuCjMQ6irqVl028W5JnmxorBBGlegOkgfUpghVM8mj2B9zpkuX6bOSpYyFQe5tjM8wjsqTbQHU8kfkwNweyW0S0YEoPj
8RSQSgClaOpPhylnXLVOuugqrU4qZHUuQM5wXT84gBAlOj7/pUW38xUObXMgO3f0ewbLCxdmSZYpQ8rfQSec5aclXHSjLkGOb3zYZSPSt51Drb8tHSUO
WN+mlYal7ZjG7p4nfKSCYa2y8oIHxcBzRnNw4Z36462Ghrcej94iuAwXQ3XvrrUeN7SNrfWlBq4q6DzMhCpbGw2ttVpNoYvwXAhc33hP6zS+0qmmF0yA
oemnXfM4xENc3+iMjKvCtXDl8uNmg/7BjZXGRqdZf9zmEY0wDm6s4kZ7jQc3qqmF/wGzcbYZ3YIborv6VmeNdrdc7zRbGyMzuA6X49GW6u3mclVB12Au
AaG18l41tfCRAmjcVKGbcL3dfLhR72zhhlZ//LCFm5219ZHBb8DVOKS19fqy1l6r36sqSf1IlMXX36imjkJ6/d5iNb3gwMyYOaQLMGzZ2FhusSsZY+Gm
GJy1xlf44sTUyXDTwm8oMD1ixNA8XOk01xvtTn19U1tt4fX6KFdcgdoYRrux3NpYofxwA66O1a43Hz9uSpRUbAd4dfn+/fufraYXvqEEOezC5lEuaG4s
tbY2VrTNLbzZao8KyCU4P4rQwitMPObgwmhVcC8hptl68yuNlWp64VcKVCLWk3KaRG4vrzXWJ8xB1De+vMVlZLxqqVHHDVxNxfQa5p00qsHsaFPG+RlK
xYSW96rZCf1SdsuhC4BG6t9+t1PNL3yPXYiLmiW6phJ5uHDRr78Kl8ZRhlyhwrXx6hG2iO1iyBcfwPSIK0F5VbZIEI4Q+UZE4zJcHKt5FnHYf8vEHVbv
Ed309k57NvZFqC7b1o6x6zunSs5RH8FMqANxAfENFozdNkmfX05NSF3lKDjAVd+EvAAG9lkJ2efEI1R1FtDyHunurzFiyGiyDzkOQK9Fz2zjgq4c85hH
thHjm44aX3UKyiuObshjOHUaKqLMybPw36AUGo2K21qj/rizFnvPrwazkdp2A7/T3HjIZT9Ss9J4iOsr8qpftArXm+yK3ZnuRP3LzbjHUvrE8k+bKzE5
GeIP0gAsC2V5z7f2T3ac+YpMVkslxnrDmeGvQo5FfeRxWS32wQjboVsdhofeAujqHqFmn8joaGzqOkc6xCF0tAwVcbzJQrPyGZTYxFCGx08SxOknK7Bo
fTSv9FJi82FK6csykZ0fP1yIfX3hqUxgvz9MmC8kDsGTuINcefUhVMSdUbFwb0BhRwAmqAPRBge46kcK5AU0KcMVhSLIxWGMWIptOvmObubkd3RDF4iz
4QvE6o/TUFwnln8KPr0jn0xKztjhfCceU4qyXfpkbBcIReZYQvEfmku/ChVMrB5xSI8v25tQ6Il3myZcupNPO+EAObh5lBrePFJ/loEsP8JJYNzYZIpU
YroICzWnQ6HmuET72vAiAOdPWWRRUdvy9K6nhXOzygLIE4xOnXIvU5MOiHgYR5TorpdFCgxrVyOWvm0SHjYp4GkJb3Bw5H2vUvR9L/QCTPcNSyQ38TAc
D6RU+obFUpvYZlfiDYzuvi9SeSss6YPibTIoy+ddgBmKN8yKpphTDJN2sCIToynufch7Rp+prulE3uowDCwx0Zeg7A3vcrq1amLCNLsBsaH3CY60YDFK
o0++TtdqRsQoRVltQo4PiKqQ7ulBpLanH7IXpkzbm2T22qbtYY6lfgkytIiuArie7nicFOJSO4MwIlxigRReKTwhwr149b9AMfgGcTNk16eqVwluhrBy
wMSp5POS9Nh5ifrDFBSkKptgA07eM/tk2/FEunuG5w5RCE92vwh5o7+rDZ+kyhn93S3HRCpU+KUGmSjFRanEgTxTanT98yde/xDbFY7Lduo3s5CZdOkl
/qjzaFIFV0Uy4asiN6Dc1x0qabxSXOvhsE2GcgFyTwjzkUV4l5d4ONg5IK7I2RIl6lbv2HaPX1MoiLeDbLvHrihEF6w4umDz7F633e9TpS7VTBjElCBT
KR5PE2d6Jo3LAsgSxNFLMLPjmzuGafYpYt/uEf4eVxFXQxXrFB5mkkqESRBkPH2XJxoUMfs9xhTTJ2aKt6G6Tw65BpQmuZp4LP+IHDK1yI3y1H646KLb
UBWOwWGQYjfDZjsl4SLJ7i7Mhr2AABsx7JmQsRdZ83tQiYydkI5Qh6nh1/R0Txc66/KEb8Fl+Rkruqeri1CQNcc9tVL/IQWlkLfyrGXlFkxR2+ISk3S9
IPuRm6B2AGRo+tMwWlag6U9DaItwvu+bniGSM9zAivKbtM+xSv41rrSkUTnJj8rJLZgKbjlapmFxQSvgirzpyIBj3Fo8KbeqP0tDbvL1tGerj4bKhpNS
KpuIUslNVCr5I5RKYVyphFRAMaICRgkIz0TcS6cU91swbQ88bdcZym85SKh96AyGF2Ms4nqkpwlsnmZVxBUObjFkV92FdEd/GtzDU0IvJMUvaiCL6fD5
6WgecGY0D1j9iQI57rmfebCbUNEHA9PosovAQRp9eQhsWfHqP5ug/kennxub/rcVqGxZpuF6n35O9lkiP7/Mxz6Ta094TfjjfQzn/6agxHL1TkNWBBk6
9eDszzbZC4n8nT959sdLY0uQOd4SZON3cpehSEcLX7sqcEDdQw8gL/P8knNDRdpfR3f3sURXf0uBUqjiU3mi6ipA8EKbJ/1p+Sybp35DgdngOk945RbF
YiiJj4iGsMVinfZlPPUAgPfm+qaHPg8FERmScan5hOFJb50j4qBFiGNSEY5BkOkP88fYb9WBSqSbIGaghF4rGX0cMzX+OGbsXZ907F2fM91vyMQ9fuUY
Z3j8avKtOPVXCiBs/HpcZb0KwD41nCxeZBC2yX0ZEK9mkRR5ZZELfJXVsHCKuK4YvaKSG7miov6pArPsu6kT8Ild+wtHetKTIj2Z0UjPRci7hFjDK0o5
WjzbbZqPZuPOtcTUE9ntiHubc8e6TDZ3nIsNc0ecus1NPBQ5033QuYlWd26ykC7+RQpym6wGbUBB3rVAamxYM3IRY+5aIg53wd+BYnDsh+ISkEZPFeee
n4wkTg5bUAod5KFbsYHc0YO+uUuJ53nobciywzcUl5UUPqabm09G4JNb/MsUZNaJ5aMvA7BZsMMpdDUhjM5PP2L7jZyP3FZeVdBjyPFwNIrbIgSHC7G9
ReLYrLf3Q2/PiqcZUXyaWPSB2rkbyW87yvuvjwA2Td3ibi2Km0/E452bFEVf/HYKyvWQWKIWFGnvPHZ+K+k0JHLPceIIaIN3yJfq+YSlOkF/78F0QLW6
5T4hzrOi7OI/ZSDH9LSLNqEYPAcX2//oU5CxEht+UPBroecjxQNzaGFSx9FX6I7sfwumKZ1Dj33ELt/4YyCTyf21kNsY7vtZcfMm52budsTOePyFjckz
bkE5YLhWqx2rbkcelZjc4VdhJviyoNdjff+koSXT/b4COeaBuMegxbiLNnnqHU4L6dygF5P6HHF/JiuN76YgXxfX4oQ24sVYbXQC2X4/ROnAJB2L0skD
S0bbDvU9vEU0qe+RRw+OHmPxtxXI0n2Gi5bF/3o5Yj81mRxtKAaTiV26uA3d3NXEIemm6wyO4r8HAAD//24jJp4=
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
