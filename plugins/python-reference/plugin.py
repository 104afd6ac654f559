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
eNrcfVtsJNlZ8FTf++tuu33WM9PjuXlqdjYT7+7Mjmcvk+z+Sdp2e9w7Y7dzumc3u8mfotx9bNe6uqq3Lp5xQICUIKLwAgQlEk8gopVIhEQkEEgEniJ4
AYknRJCIIA+8kCekgHhB6Nyqq7qr2rfZ3Ygn9/nOdy71ne92vvOdY/hOCi65xNknzsHtgenvGNbt/Tu3u7pp3ho4tmejGVF7i9fe2r+j/qkCmWXdNNEc
FLZ817CI69aUeeVmGgdlWjcwdW/bdvq11Lxys4iDMpqFrOvZDqmlWQUv0BYu8TzD2nFrmXnlZhkHZfQJmDZ6pD+wPWJ1D7Q9clDLsrZTIfADckA76fqO
Q4u1HB9WlpfuvHt7x/B2/a1bXbt/W3zXi7v+1u0oBdzb7NNfH2xt5divu/A3F+PINDB1K5FMcxPpqn5LgcIK6RquYVvoRcjQvhgRS4vnb411dmvT1K21
M5ihoVnIuHvGgNOVQmkJfRoKJtn2NNv3aun59M3S4tW4jvwt03B3G45jOzhPG7R8b6kIedv3unafqH+WgQwdjZKSWL2BbVgem1gRB2V0DnJ94u3aPbG2
ooQQZAa6tysWlv1G9yD7vk+cg1qGTUpN+Lpbn6dIDctzDjBvgD4D+V2i94jj1rKs7bNJbdc4Gm8tG9HZbNk9zghlzH6jVZhySdchnia7zifSqs0Qed+4
4oZKLroHedfvdinrF9iqXYnrgGNg3yRYoqN5KHUd0iOWZ+imWyvOp28WcRiEXqTyQQZuDdjU4vih7ZEB5lioCmnfMWslRnP6c+4ewJCatJ4KDF9D+pMK
4L5u+kSsHi98OnVPmfs0lMO0PE5b9Yc5yNB5Ubpbep+IVux3hJtSidyUjuWmTIibxMdmg48d8lcukb/orCbzVz6Rv1jbyfxVCPHXRShSGdVYRXFeuVlg
is9aopUIMtuGabJ1LWL2G70EGaYkS2wGl2JmsGo7/VWDmD3MMCl7DHTHc2vlRPbY1B0Pcyw66M5XjEGtwibDfsdIwdSJpGCEl6fHeTkkJ9XjycnzkPH0
PVKbSfzKjr5HMENCtyhNdohbQ2yQWixNdoiLORq6DhWH+C7RXNK1rZ5be2ZeuVnBZQZsc9jHJEa/qUCGflmsGF2D8nuubWlMcIgjWpcobJOD0GWAvv5E
M4m1IzRxBRf7+pOHDEAF0R54hm3pJhOsAg7KVBD5+jL5KmBRUl+BYsCEsdOK/Rr1OwpkKCcmKYRtwyQMLhSCLNOv7NqWRyxP8w4G0k8oCVjnYMCI45En
ntQN9DeqQV6gsPmXsSxGpTIXlUrVgizjDXQDprq+49pOQF4+4QqHSgLT2XE0rnfEGnAYYxg6Hl0DzpJ8CQp9/QkbRn0XymGZolTnUiiGE6XQaggjy0uU
ch7pU29KUiYoq7+jQCkkTcyp8nTPdwl10dI3szgoH4WXrgIrauR9n8o3Hw0oqMEglGTbhqWbWjBKho1SYdC2AKrfTkEBE3dgWy5h38Uq2PdmsSihpaE6
TjGZvxkjxbKXQ1RyOqSSEWSooZSsQn+jVyBPdMc0iCNci4sTxsISl/I5X1Nqa8pCmZxW2qtNSuuBQzxM3veJ61HVR13FCf4g9b8xQ0KvQcERE2XdH/It
ATJdB71LJV+aXV5Sf6rAlHATW9wpRK9Qj4TyG53RVKyZEKh0yQnm2FQg+8R19R354bKIXoMcoS6oe1RXVaCjS1B0yDahHj0RKzoEoEU4S54MDIe4mr7t
ESdQ71kmg8+IyjqtE1pe/Z4C5fBQlC7UenlyBUUJnYWcQ7Y1Qzq9WYdsN5k+7No9KYrsd/jDM9EP/wzd5ewTh3afZcSMc1hWDatnWDttgYmDNgvfVKAc
JjW6DBdajzrLrfWG1u7UOw3t0UZ7s7HcXG02Vqpn0DlA0eqV1kajqqAazEbhq/Xmw8ZKNYUuwNlozWZjY6W5cb+aRufhmWgVbnTwO9XMQh+mR6aM5uHS
apM11NqNtxq42XlnZGpzcG4Mo4FxC1cVdAlqY3Vv1/EGnUfqNDu5v83A1fGNmdj8HGszN9z9qX+RgmlMBrbjkZ4UmQijKuOMmtkzLM5JU7E+kejngWH1
MMNF81BmO2VNcKHQxgyGGSsuwIzcZGsc1egJBpyWFW0Kb/aGIp09qUjnkkQ6fyyRXvgVKIU+li69ZLIHzY2VEaY5CzOR2vXGxqOqEpYCBm53Wrih1Zc7
zdZGNTXWZ7PTWJe16dOw018twOUYdnJ6xDlhZGDuMPY8hBd/CaodR7dc6g6cyJ68DnmHtxPm5FoMftPasn2rJwbAsoX6zymYitZR/chYXTh/jJWX5J6N
G/oXDh0hZve2NnQXuA25dXgvk52GTMhpuAolh3SJsU96ms79yTQGCap7H9Pm4B/TUJLLa9gWugtZxmxiaeMs/wZ53KIoa2cwx0VzkDd2LNshvSCEJAGo
AeWubnWJyQdgSiZelpdDaGtncKQZ+iwUKDNt6d09RtZ4Lqozh2NZIK6dwUEj9BJkt4nX3WVaJn5Dt0rr6VcxRLqbF3JSy7M2aqwbFNHS9MtFI/QG3T34
DnUJS6z9fNxHcwzeDW0tmlB16pCByY16PMECXhyYB5hjLxWpOtUtw9pRfwGy7IuotB4hGihigWGVz1Z36J8EKp8tf7On/kCB84FuYGOR3keuIiL+avoY
/qpahakow6g/UaAcpurI1qISbC1WR7cWLxyyPsfYXqhQkYTX+rqzJwxuyeZUX9edvVOJPIZyWNTiV1yJXXFKD4form3JLSQvqX+pQCXCysftVVBZbkw5
leU2Px2NDAx2bUv6wbxAvWDT7nINk00UVjHDhwITB23UL8L0SCXd6VICeX5PultBmfpipm3t8Eo+5yEATUFK99ik0zile+pP8lCQSvNYdBl10FJHc9DS
8Q7aZQA+IAuBiK0Og7AAyHWo9IhpUJJxDB4SLUsgQ1KhYrjalm/u8cmL2EfJcJd8c49/4WtQ6PquZ/eJIxRnnDwuCxQcIKNFyBoe6bu1QmLoklPGI33M
UdE9yHd3dYduoYus1ZWkVvW+7VselujoZch6+hMig+KHtePI6A0o9gy3S0GuCLEe1nLYAL0M+YF+0CeWJ2Ktc7FxRYaBJSoVj67tD2yLhVyLWJSQCmXD
cj3HZ0rMrU3xBQvD0PMwE6xqT/eIZ/RJbZqxZlVWrAg4ugFTnENcf8uzPd1kIdYi5vqoLYCUU9gPTVJ+hg/MgMuCvFehxJE4kRFnXQbqMErOQUEShgVL
izgo08aCVdksZnljzqtsCjdgaqAf6Fsm0XRG5dpZPlMB5aSnLN8z3IGpH1C5OMdZXkCaPTrMwCED3SHatu3UznOfTIBWbQddhnzX90zqWNYoozMDzQFf
V5QlgIImiuqvKlCQPJ0U0uSKKxVWXLOQJX3dMOXRJStQPtF7PYe4rnB24vikzjGwRFX/QYG8AKKzkDMNi2h3xByytHQnAC/KWdDSItd1Vo9Zm7TUdbzM
whGGdyCjXfQ3ugZl19/SqPo0ZeChiEuuv/VQgKhFGhiW2NPRnxGFmp+kUAsjClX9VwWKgeSHwiZKOGwyB4X3fZ3HWVL88FiWGe0doxscELMChXqGZwam
hBXGpCobI1X3IM9j3K44JErUAS2GhiU6Og95tgBGT9CArUezp/6RAqVQiw/7K0PzyIbngS5CjnK/5bGly66dwaJMGb4IeY2XVF1MV0haMIoSHiXWCaEc
5Qxjzex3EPTKDINe6juQ3xyqQE5BGULjJRZy5PIvPAdeQleg5Dr7juY5T4YWsUhBHedJs6f+eQqy3FpdgELEDKdxXjhax3GFn3IsJWqqs4ea6txRTHV+
3FSfwOKq/5QCVO/uWfZjk/R2ThYSuCV3manEzRgbd7jBLOjdLhl4hFO2gINyyCXNhF1SdkTjkIHGLB7fbhcooEMtHduNUzSNcR2nH3DQst0jdAW6u7q1
w3freda8KCB1D92CWdv3NHubLmV3T6w6p2MRV23fa223aQ1bexc9B9OGta+bRi9A5ef0FQHmeOqPU4DYl/OTjo+EuEPvOx3xvpNjzlHiZEeJcw3KjPJ9
w/I9drZBEZipXeegUfrnx+j/YRH4PxWYptzstlrtj4S681CmchPMKs1mBRQmpv4sTHFtFuBkGE6ZQwXWZQDdNO3HGukZ8ji1yCCNnuFxgvJQBF2TnAwv
cVDdU78b+vAP7RTmZTgnvXmtr7t7pKdZfn+LOIK1ZmXtOqvcYHXSVcgErsJpAqhfz8OV8XgmP4k6aQR1ckT2kPjpr6egwsMMH5U0xx3C8fPt/mB4vt0f
oOeg/JjojmHtsNXiXLV2BpcElK7S1xVl6Lrmwq7rFYCB7uh94vGEF+VmGYcgS9NQ0cLdq19ToBYcTcqYy0cfUv5esCAfmhywg38hB5xyaXnwz6GbjILD
tcpE1irW8cjGOx4xmYy52EzGIKCYP1ZA8RSi+IdZeDZGFPd1w9S3DLpLOGmy478ogJivdArBerrBFQQZe0AskQHDfh9mJi8BeL5jabY11NgFCmlZdU/9
fgpmqL7+ufnCS1AUSyf2EtT+SMCYmcsewczl4s3cJL8rSrNClGan4dV/z8LFcZZ777GXnLb8u2kov+na1ttkq2PvESuUX6NE8msaUN4jBxqxunbPsHbE
GW1cgDLc3QNygEt75KAhmqE3INc1daMvj6eePaSDZYqMRRvUimhrnjp7+5Aebm0GLXjcOtQF+iRUTWObBY5GsiKmJVxkRIQSknKRhKRw4lE+mng09/9g
emT0YwW5bZgZo8XRM81CS5mOLGUN8iKHXPrEorgwgOmR1UMqXHmz3drQ3m4saZ3Wg8aG9qARk7MQg4Prb/Mz6Ji6pXq78erLp0ta+LXn4fo4t/eI23WM
wWRPaZKUqDMwvcI62ZL7QvUbWSitDDtGU5AKYhopo0cpuk8c1wiOFGSRZfzTXru2KVPeZJluMWRgj62oOCIRsA26sCqUu/qAGxqDSI0UgaElgH27q2/5
pj4x3/etAOm+Y/sDHGqF7kFeF6GifGIsSPgb29vEwRKdmm55IUFzu7ukr4vM3ykJbjMo+hQUZW6zDHPHhdQbAgcPsdFdyrCUdWWc+0JiRi6WmOhlyBvc
FRAh7rkJzoJERXcgZxp9g+URKwkjPWQIWCCiz0bTfStssMtxVi3AGstsH9imKdONY882bdPEHEv9AwUytByrCeahFJIAmb0YArGoM3EMuxcoPM6XFQ6V
6u4iFAfE4QZVpsQO6Jbedlgqqm2ZB9qAsPQmsZMrUdgmB6nfVGB6hOOomtqhP2R8jRXQecjblkaNLJtuAedsi8VIL0LRtjQRMhMRE9sSocWXIbNHDqQR
mJ/I79QKMWz1qwpUIvBYIr4EGcc3ibBxcQGlt6iCZZnZDJMqALaNZaEdKqKySPv3LSNIyaW/1Q8UKIWEKUml81hkKhyLvAqlrQMtSCLgRIGtA7kRQc/D
zNC8SYHkKRzVYYUQyatQconVczWyL9ODCxgYqEEh6o8VKEiBPCG7zUJ213Y9GTPgBZYiTxzP2Da61G4KzRcCUb0SKoYvN4XAdAFfB3AoBpNGkRgRt2RY
9wiTXFx05E+1B8UATnW12F7Jk/KgHCM1qTipmYXslu+4npApXlC/CDmunU5Iw4gspqOyqP63AjDULCcc4S7kbN33dhdF8kGc2mvVKcLaGSxQ0TIUXWPH
0j1fqIjS4vXYpAVGw7ZEXTuDh+3QXUi/99ibkCASdkjWzmCKvZTj2VPqtzKQ49NCd6lu0cWtrKlY/cu6uE+RMMedeP8m7tbWRSh6tBPNd0zBtAUGeOSY
tLJrGsTyhhvdAgc0e+g6VESlcMlEtJsDBXe0YIpSlq6kSAPIs4/5RJwxYQ3rEXQ80pzdKezaA3kaxQv8mse2Q9xdjU2e3cgp4rIA8n1AM+Jqc7P7yUSu
mOhkDz3nUqLnXH66nvPPUlAd5bvErc0yFHVzx3YMb7cvdP6NOAdDdlSXyHjYDn2OspLYG6VZH89O6kNuiHDQKkKOTJQcIRJmIyQMKJALO/6fhCrdubie
3h+Iu0xiazIdwMU1i/UwKt0pix1p/NauI1FXGWaoOw5QfysHeeFTxaY4vg75ge8MbFca1wkxr02OiGULdA9yzKARQeD55LbMwBEs8EPkyyRcJslGOOIc
5AYO2TaeyL0eL6HPhBY5n0glMYeYJY5bmEL8wjwPM55tEke3usOtaZFZlWpQIc1O+PwP+AZEnv/NyqRSLnsiTZRafmPHIj2N3Rcqi6AKA3XIE4+a3+FM
eQc8b2MqAPNLPRsxDDTFSHM9mTQBH41xEHUtLZt+syDPNDdWDCZI8xxMB7llAiuc4tHsCbxXIMv128xhwUKm8jDHZp5HYE+1ge54IvFjaghmF7huwJAY
HI+ngFQCKEVTfzjMx+OqddIdYml1UiGrcw5yhuv6wQGEKNHx+S8tup2vcGibA9m5o98zWMq9MEuyTBlS/g464Sw/LeGiG3UJcnzjw+5xkb7tHGj9Leko
ccD6Fq00LG3bNHZ2PeEjFQxrlZUXPCgGnjOag3Nv1R8+amj40cPRCxoX4Xyo7u211sOGtvFofamBqwo6CzOhytZGQ2utVlPoPDwTAtc33tE6jS90qukF
E2Bo+mnXPA5xH9c3OiPjqnAlXLn8sNmgf3BjpbHRadYftnlEI4yDG6u40V7jwY1qauGXYTbONqMbcE10V3/UWaPdLdc7zdbGyAyuwsV4tKV6u7lcVdAV
mEtAaK28U00tfKAAGjdV6DpcbTfvb9Q7j3BDqz+838LNztr6yODX4HIc0tp6fVlrr9XvVJWkfiTK4iuvVlOHIb1yZ7GaXnBgZswc0gUYtmxsLLfYbZex
cFMMzlrjC3xxYupkuGnhtxWYHjFiaB4udZrrjXanvr6prbbwen2UKy5BbQyj3VhubaxQfrgGl8dq15sPHzYlSiq2A7y6fPfu3U9V0wtfVYLrAcLmUS5o
biy1Hm2saJuP8GarPSogF+DsKEILrzDxmINzo1XBlY+YZuvNLzRWqumFnylQiVhPymkSub281lifMAdR3/j8Iy4j41VLjTpu4Goqptcw76RRDWZHmzLO
z1AqJrS8U81O6JeyWw6dAzRS/+bbnWp+4dvsrmHULNE1lcjDhYt+/WW4MI4y5AoVroxXj7BFbBdDvngPpkdcCcqrskWCcITINyIaF+H8WM3TiMP+Tybu
sHqX6Ka3e9Kzsc9Cddm2to0d3zlRco76AGZCHYi7na+yYOyWSfr83m9C6ipHwQGu+hrkBTCwz0rIPiceoaqzgJZ3SXdvjRFDRpN9yHEAejl6ZhsXdOWY
RzyyjRjfdNT4qlNQXnF0Qx7DqdNQEWVOnoVfhFJoNCpua436w85a7BXKGsxGatsN/FZz4z6X/UjNSuM+rq/IW5TRKlxvstuLp7pu9l/X496h6RPLP2mu
xORkiD9JA7AslOVd39o73nHmizJZLZUY6w1nhr8EORb1kcdltdi3OGyHbnUYHnodoKt7hJp9IqOjsanrHOkAh9DRMlTE8SYLzcoXZmITQxkeP0kQp5+s
wKL10bzSC4nNhymlL8hEdn78cC72YYsnMoH97jBhvpA4BE/iDnLl1ftQEddxxcK9CoVtAZigDkQbHOCqHyiQF9CkDFcUiiAXhzFiKbbp5OvPmeNffw7d
zc6G72ar309DcZ1Y/gn49JZ8jSo5Y4fznXinKsp26eOxXSAUmSMJxf9pLv0SVDCxesQhPb5sr0GhJ57EmnCfUb6ahQPk4FpWangtS/1RBrL8CCeBcWOT
KVKJ6SJjN5viEu1rw4sAnD9lkUVFbcvTu54Wzs0qCyBPMDpxyr1MTdon4s0hUaK7XhYpMKwdjVj6lkl42KSApyW8wcGRp9NK0afT0HMw3TcskdzEw3A8
kFLpGxZLbWKbXYk3MLp7vkjlrbCkD4q3yaAsn3cBZijeMCuaYk4xTNrBikyMprh3Ie8Zfaa6phN5q8MwsMREn4OyN7wm69aqiQnT7AbEht4nONKCxSiN
PvkKXasZEaMUZbUJOT4gqkK6pweR2p5+wB7vMm1vktlrm7aHOZb6OcjQIroM4Hq643FSiPcCGIQR4QILpPBK4QkR7sWr/x+KwTeImyE7PlW9wS04Xg6Y
OJV8XpIeOy9Rv5uCglRlE2zA8Xtmn2w7nkh3z/DcIQrhye7nIW/0d7Tha185o7/zyDGRChV+qUEmSnFRKnEgz5QaXf/8sdc/xHaFo7Kd+rUsZCZdeok/
6jycVMFVkUz4qsg1KPd1h0oarxTXejhsk6Gcg9xjwnxkEd7lJR4OdvaJK3K2RIm61du23ePXFAriWSbb7rErCtEFK44u2Dy7Mm/3+1SpSzUTBjElyFSK
x9PEmZ5J47IAsgRx9DzMbPvmtmGafYrYt3uEP3VWxNVQxTqFh5mkEmESBBlP3+GJBkXMfo8xxfSxmeJNqO6RA64BpUmuJh7LPyAHTC1yozy1Fy666CZU
hWNwEKTYzbDZTkm4SLK7DbNhLyDARgx7JmTsRdb8LlQiYyekI9Rhavg1Pd3Thc66OOFbcFl+xoru6eoiFGTNUU+t1H9LQSnkrTxtWbkBU9S2uMQkXS/I
fuQmqB0AGZr+JIyWFWj6kxDaIpzt+6ZniOQMN7Ci/CbtM6ySf40rLWlUTvKjcnIDpoJbjpZpWFzQCrgibzoy4Bi3Fo/LreqP0pCbfD3t6eqjobLhpJTK
JqJUchOVSv4QpVIYVyohFVCMqIBRAsJTEffSCcX9BkzbA0/bcYbyWw4Sau87g+HFGIu4HulpApunWRVxhYNbDNlVdyDd0Z8E9/CU0ONT8YsayGI6fH46
mgecGc0DVn+gQI577qce7DpU9MHANLrsInCQRl8eAltWvPrPJqj/0ennxqb/DQUqjyzTcL2PPyf7NJGfn+ZjXyC2JzzU/OG+M/QbKSixXL2TkBVBhk49
OPuzTfb4JH9CUZ798dLYEmSOtgTZ+J3cRSjS0cLXrgocUPfQPcjLPL/k3FCR9tfR3T0s0dXfU6AUqvhYXv+6DBA8fudJf1q+eOepX1VgNrjOE165RbEY
SuL7rCFssVgnfXRQ3Qfgvbm+6aE3oCAiQzIuNZ8wPOmtc0QctAhxTCrCMQgy/WH+GPutOlCJdBPEDJTQUy6j746mxt8djb3rk46963Oq+w2ZuHfFHOMU
74pNvhWn/kwBhI2fj6uslwHYp4aTxYsMwja5LwDi1SySIq8scoGvshoWThHXFaNXVHIjV1TUv1Zgln138MzMR3RDOoj0pCdFejKjkZ7zkHcJsYZXlHK0
eLrbNB/Mxp1riaknstsh9zbnjnSZbO4oFxvmDjl1m5t4KHKq+6BzE63u3GQhXfy7FOQ2WQ3agIK8a4HU2LBm5CLG3JVEHO6CvwXF4NgPXY99PSl6qjj3
7GQkcXLYglLoIA/diA3kjh70zV1IPM9Db0KWHb6huKyk8DHd3HwyAp/c4t+nILNOLB99HoDNgh1OocsJYXR++hHbb+R85KbykoIeQo6Ho1HcFiE4XIjt
LRLHZr29G3rWV7x6ieLTxKJv/85dS342U95/fQCwaeoWd2tR3HwiHu/cpCj64jdSUK6HxBK1oEh757HzG0mnIZF7jhNHQBu8Q75UzyYs1TH6ewemA6rV
LfcxcZ4WZRf/IwM5pqddtAnF4K282P5HX9mMldjwW41fDr3MKV7fQwuTOo4+0Xdo/49gmtI59NhH7PKNPwYymdxfDrmN4b6fFjdvcm7mbkfsjMdf2Jg8
4xaUA4Zrtdqx6nbkUYnJHX4JZoIvC3o90vdPGloy3R8rkGMeiHsEWoy7aJOn3uG0CJ7J+0RSnyPuz2Sl8a0U5OviWpzQRrwYq42OIdvvhigdmKQjUTp5
YMloW6G+h7eIJvU98ujB4WMs/r4CWbrPcNGy+Dc6h+ynJpOjDcVgMrFLF7ehm7ucOCTddJ3CUfzfAAAA///o2Y3P
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
