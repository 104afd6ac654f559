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
eNrcPVtsJNlVU/3u0912+65npsfz8tTsbCbe3Zkdzz4m2SVJ226Pe2fsdm737GY3IUW5+9qudXVVbz0844AAKZGIwg8iKJH4AhGtRCIkIoFAIvAVwQcg
8YUIEhHkgx/yhRQQPwjdV3VVd1X7Nbsb8eW+5577qHPPOffcc8+5hu+k4JJLnH3iHNwemP6OYd3ev3O7q5vmrYFjezaaEbW3eO2t/TvqnyqQWdZNE81B
Yct3DYu4bk2ZV26mcVCmdQNT97Ztp19LzSs3izgoo1nIup7tkFqaVfACbeESzzOsHbeWmVdulnFQRp+AaaNH+gPbI1b3QNsjB7UsazsVAj8gB7STru84
tFjL8WFleenOu7d3DG/X37rVtfu3xXe9uOtv3Y5SwL3NPv31wdZWjv26C39zMY5MA1O3Esk0N5Gu6rcUKKyQruEatoVehAztixGxtHj+1lhntzZN3Vo7
gxkamoWMu2cMOF0plJbQp6Fgkm1Ps32vlp5P3ywtXo3ryN8yDXe34Ti2g/O0Qcv3loqQt32va/eJ+mcZyNDRKCmJ1RvYhuWxiRVxUEbnINcn3q7dE2sr
SghBZqB7u2Jh2W90D7Lv+8Q5qGXYpNSEr7v1eYrUsDznAPMG6DOQ3yV6jzhuLcvaPpvUdo2j8dayEZ3Nlt3jjFDG7DdahSmXdB3iabLrfCKt2gyR940r
bqjkonuQd/1ul7J+ga3albgOOAb2TYIlOpqHUtchPWJ5hm66teJ8+mYRh0HoRSofZODWgE0tjh/aHhlgjoWqkPYds1ZiNKc/5+4BDKlJ66nA8DWkP6kA
7uumT8Tq8cKnU/eUuU9DOUzL47RVf5iDDJ0Xpbul94loxX5HuCmVyE3pWG7KhLhJfGw2+Nghf+US+YvOajJ/5RP5i7WdzF+FEH9dhCKVUY1VFOeVmwWm
+KwlWokgs22YJlvXIma/0UuQYUqyxGZwKWYGq7bTXzWI2cMMk7LHQHc8t1ZOZI9N3fEwx6KD7nzFGNQqbDLsd4wUTJ1ICkZ4eXqcl0NyUj2enDwPGU/f
I7WZxK/s6HsEMyR0i9Jkh7g1xAapxdJkh7iYo6HrUHGI7xLNJV3b6rm1Z+aVmxVcZsA2h31MYvRbCmTol8WK0TUov+falsYEhziidYnCNjkIXQbo6080
k1g7QhNXcLGvP3nIAFQQ7YFn2JZuMsEq4KBMBZGvL5OvAhYl9RUoBkwYO63Yr1G/o0CGcmKSQtg2TMLgQiHIMv3Krm15xPI072Ag7YSSgHUOBow4Hnni
Sd1Af6Ma5AUKm38Zy2JUKnNRqVQtyDLeQDdgqus7ru0E5OUTrnCoJDCdHUfjekesAYcxhqHj0TXgLMmXoNDXn7Bh1HehHJYpSnUuhWI4UQqththkeYlS
ziN9ak1JygRl9XcUKIWkiRlVnu75LqEmWvpmFgflo/DSVWBFjbzvU/nmowEFNRiEkmzbsHRTC0bJsFEqDNoWQPXbKShg4g5syyXsu1gF+94sFiW0NFTH
KSbzN2OkWPZyiEpOh1QyggzdKCWr0N/oFcgT3TEN4gjT4uKEsbDEpXzO15TuNWWhTE4r7dUmpfXAIR4m7/vE9ajqo6biBHuQ2t+YIaHXoOCIibLuD/mW
AJmug96lki+3XV5Sf6rAlDATW9woRK9Qi4TyG53RVOw2IVDpkhPMsalA9onr6jvyw2URvQY5Qk1Q96imqkBHl6DokG1CLXoiVnQIQItwljwZGA5xNX3b
I06g3rNMBp8RlXVaJ7S8+j0FyuGhKF3o7uXJFRQldBZyDtnWDGn0Zh2y3WT6sGv3pCiy3+EPz0Q//DP0lLNPHNp9lhEzzmBZNayeYe20BSYO2ix8U4Fy
mNToMlxoPeost9YbWrtT7zS0RxvtzcZyc7XZWKmeQecARatXWhuNqoJqMBuFr9abDxsr1RS6AGejNZuNjZXmxv1qGp2HZ6JVuNHB71QzC32YHpkymodL
q03WUGs33mrgZuedkanNwbkxjAbGLVxV0CWojdW9XccbdB6p05zk/i4DV8cPZuLwc6zD3PD0p/5FCqYxGdiOR3pSZCKMqowzambPsDgnTcXaRKKfB4bV
wwwXzUOZnZQ1wYVCGzMYZqy4ADPykK1xVKMnGHBaVrQpvNkbinT2pCKdSxLp/LFEeuHXoBT6WLr0kskeNDdWRpjmLMxEatcbG4+qSlgKGLjdaeGGVl/u
NFsb1dRYn81OY13Wpk/DTn+1AJdj2MnpEeeEnoG5w9jzEF78Fah2HN1yqTlwov3kdcg7vJ3YTq7F4DetLdu3emIALFuo/5KCqWgd1Y+M1YXxx1h5SZ7Z
+Eb/wqEjxJze1obmAt9Dbh3ey2SjIRMyGq5CySFdYuyTnqZzezKNQYLq3sd0OPinNJTk8hq2he5CljGbWNq4nX+DPG5RlLUzmOOiOcgbO5btkF7gQpIA
1IByV7e6xOQDMCUTL8vLIbS1MzjSDH0WCpSZtvTuHiNrPBfVmcGxLBDXzuCgEXoJstvE6+4yLRN/oFul9fSrGCI9zQs5qeVZGzXWDIpoafrlohF6g54e
fIeahCXWfj7uozkG74a2Fk2oOnXIwOSbejzBAl4cmAeYYy8VqTrVLcPaUX8JsuyLqLQewRsofIFhlc9Wd2ifBCqfLX+zp/5AgfOBbmBjkd5HriIi9mr6
GPaqWoWpKMOoP1GgHKbqyNGiEhwtVkePFi8csj7HOF6oUJGE1/q6syc23JLNqb6uO3unEnkM5bCoxa+4ErvilB4O0V3bkkdIXlL/UoFKhJWP26ugsjyY
cirLY3466hkY7NqWtIN5gVrBpt3lGiabKKxihg8FJg7aqF+E6ZFKetKlBPL8njS3gjK1xUzb2uGVfM5DAJqClO6xSadxSvfUn+ShIJXmsegyaqCljmag
peMNtMsAfEDmAhFHHQZhDpDrUOkR06Ak4xjcJVqWQIakQsVwtS3f3OOTF76PkuEu+eYe/8LXoND1Xc/uE0cozjh5XBYoOEBGi5A1PNJ3a4VE1yWnjEf6
mKOie5Dv7uoOPUIXWasrSa3qfdu3PCzR0cuQ9fQnRDrFD2vHkdEbUOwZbpeCXOFiPazlsAF6GfID/aBPLE/4Wudi/YoMA0tUKh5d2x/YFnO5FrEoIRXK
huV6js+UmFub4gsWhqHnYSZY1Z7uEc/ok9o0Y82qrFgRcHQDpjiHuP6WZ3u6yVysRcz1UVsAKaewH5qk/AwfmAGXBXmvQokjcSIjzroM1GGUnIOCJAxz
lhZxUKaNBauyWczyxpxX2RRuwNRAP9C3TKLpjMq1s3ymAspJT1m+Z7gDUz+gcnGOs7yANHt0mIFDBrpDtG3bqZ3nNpkArdoOugz5ru+Z1LCsUUZnGzQH
fF1RlgAKmiiqv65AQfJ0kkuTK65UWHHNQpb0dcOUV5esQPlE7/Uc4rrC2InjkzrHwBJV/UcF8gKIzkLONCyi3RFzyNLSnQC8KGdBS4tc11k9ttukpa7j
ZeaOMLwD6e2iv9E1KLv+lkbVpykdD0Vccv2thwJEd6SBYYkzHf0ZUaj5SQq1MKJQ1X9ToBhIfshtooTdJnNQeN/XuZ8lxS+PZZnR3jG6wQUxK1CoZ3hm
sJWwwphUZWOk6h7kuY/bFZdEiTqgxdCwREfnIc8WwOgJGrD1aPbUP1KgFGrxYX9laB7Z8DzQRchR7rc8tnTZtTNYlCnDFyGv8ZKqi+kKSQtGUcKjxBoh
lKOcoa+Z/Q6cXpmh00t9B/KbQxXIKShdaLzEXI5c/oXlwEvoCpRcZ9/RPOfJcEcsUlDHedLsqX+egizfrS5AIbINp3FeGFrHMYWfsi8lulVnD92qc0fZ
qvPjW/UJdlz1n1OA6t09y35skt7OyVwCt+QpM5V4GGPjDg+YBb3bJQOPcMoWcFAOmaSZsEnKrmgcMtDYjseP2wUK6NCdjp3GKZrGuI7TDzho2e4RugLd
Xd3a4af1PGteFJC6h27BrO17mr1Nl7K7J1ad07GIq7bvtbbbtIatvYueg2nD2tdNoxeg8nv6igBzPPXHKUDsy/lNx0dC3KH1nY5Y38k+5yhxsqPEuQZl
Rvm+Yfkeu9ugCGyrXeegUfrnx+j/YRH4vxSYptzstlrtj4S681CmchPMKs1mBRQmpv4sTHFtFuBkGE6ZQwXWZQDdNO3HGukZ8jq1yCCNnuFxgnJXBF2T
nHQvcVDdU78b+vAP7RbmZTgnrXmtr7t7pKdZfn+LOIK1ZmXtOqvcYHXSVMgEpsJpHKhfz8OVcX8mv4k6qQd1skf2EP/pb6Sgwt0MH5U0x13C8fvt/mB4
v90foOeg/JjojmHtsNXiXLV2BpcElK7S1xVlaLrmwqbrFYCB7uh94vGAF+VmGYcgS9NQ0cLdq19ToBZcTUqfy0fvUv5esCAfmhywi38hB5xyaXnxz6Gb
jILDtcpE1irW8MjGGx4xkYy52EjGwKGYP5ZD8RSi+IdZeDZGFPd1w9S3DHpKOGmw478qgJitdArBerrOFQQZe0AsEQHDfh+2TV4C8HzH0mxrqLELFNKy
6p76/RTMUH39c/OFl6Aolk6cJej+IwFj21z2CNtcLn6bm2R3RWlWiNLsNLz6H1m4OM5y7z32ksOWfzcN5Tdd23qbbHXsPWKF4muUSHxNA8p75EAjVtfu
GdaOuKONc1CGu3tADnBpjxw0RDP0BuS6pm705fXUs4d0sEyRsWiDWhFtzUNnbx/Sw63NoAX3W4e6QJ+EqmlsM8fRSFTEtISLiIhQQFIuEpAUDjzKRwOP
5n4BpkdGP5aT24aZMVocPdIstJTpyFLWIC9iyKVNLIoLA5geWT2kwpU3260N7e3GktZpPWhsaA8aMTELMTi4/ja/g46pW6q3G6++fLqghW++ANfHub1H
3K5jDCZbSpOkRJ2B6RXWyZY8F6rfyEJpZdgxmoJU4NNIGT1K0X3iuEZwpSCLLOKf9tq1TRnyJsv0iCEde2xFxRWJgG3QhVWh3NUHfKMxiNRIERhaAti3
u/qWb+oT433fCpDuO7Y/wKFW6B7kdeEqyif6goS9sb1NHCzR6dYtExI0t7tL+rqI/J2S4DaDok9BUcY2Szd3nEu9IXDwEBvdpQxLWVf6uS8kRuRiiYle
hrzBTQHh4p6bYCxIVHQHcqbRN1gcsZIw0kOGgAUi+mw03LfCBrsct6sFWGOR7QPbNGW4cezdpm2amGOpf6BAhpZjNcE8lEISIKMXQyDmdSaOYfcChcf5
ssKhUt1dhOKAOHxDlSGxA3qktx0Wimpb5oE2ICy8SZzkShS2yUHqNxWYHuE4qqZ26A/pX2MFdB7ytqXRTZZNt4BztsV8pBehaFuacJkJj4ltCdfiy5DZ
IwdyE5ifyO90F2LY6lcVqETgsUR8CTKObxKxx8U5lN6iCpZFZjNMqgDYMZa5dqiIyiLt37eMICSX/lY/UKAUEqYklc59kamwL/IqlLYOtCCIgBMFtg7k
QQQ9DzPD7U0KJA/hqA4rhEhehZJLrJ6rkX0ZHlzAwEANClF/rEBBCuQJ2W0Wsru260mfAS+wEHnieMa20aX7ptB8IRDVK6FiOLkpBKYL+DqAQzGYNIrA
iLglw7pHmOTioiN/qj0oBnCqq8XxSt6UB+UYqUnFSc0sZLd8x/WETPGC+kXIce10QhpGZDEdlUX1fxSAoWY54Qh3IWfrvre7KIIP4tReq04R1s5ggYqW
oegaO5bu+UJFlBavxwYtMBq2JeraGTxsh+5C+r3H3oQAkbBBsnYGU+ylHI+eUr+VgRyfFrpLdYsusrKmYvUv6+I+RcIcd2L+TVzW1kUoerQTzXdMwbQF
BnjkmLSyaxrE8oYH3QIHNHvoOlREpTDJhLebAwV3tGCKUpaupAgDyLOP+UTcZsIa1iPoeKQ5yyns2gN5G8ULPM1j2yHursYmzzJyirgsgPwc0IyY2nzb
/WQiV0w0soeWcynRci4/Xcv5ZymojvJd4tFmGYq6uWM7hrfbFzr/RpyBITuqS2Q8bIc+R1lJnI3SrI9nJ/UhD0Q4aBUhRyZKjhAJsxESBhTIhQ3/T0KV
nlxcT+8PRC6TOJpMB3CRZrEeRqUnZXEijT/adSTqKsMMdccB6t/mIC9sqtgQx9chP/Cdge3KzXWCz2uTI2LZAt2DHNvQiCDwfHJbtsERLPBD5MskJJNk
IxxxDnIDh2wbT+RZj5fQZ0KLnE+kkphDzBLHLUwhfmGehxnPNomjW93h0bTIdpVqUCG3nfD9H/ADiLz/m5VBpVz2RJgo3fmNHYv0NJYvVBZOFQbqkCce
3X6HM+Ud8LiNqQDMk3o2YhhoipHmejJpAj4a4yBqWlo2/WZBnmm+WTGYIM1zMB3ElgmscIhHsyfwXoEs128zhzkLmcrDHJtZHsF+qg10xxOBH1NDMEvg
ugFDYnA8HgJSCaAMjbLtru6QHgsBibdV2wxBnkYEvoqhEqmg6xx4uBRuZ7rCs/UcTMsqSRSuFSsCgxNF/eEwOpAr+kkZzXIPTIX2wHOQM1zXD65DRIlS
g//Sos6FCoe2OZDdgvo9gyUAiE1Slql4yN9BJ1wApyVcdKMuQY4fw1hWGenbzoHW35JmGwesb9FKw9K2TWNn1xMWW8GwVll5wYNiYMejOTj3Vv3ho4aG
Hz0cTRe5COdDdW+vtR42tI1H60sNXFXQWZgJVbY2GlprtZpC5+GZELi+8Y7WaXyhU00vmABDQ4R2zb0i93F9ozMyrgpXwpXLD5sN+gc3VhobnWb9YZv7
V8I4uLGKG+017mqpphZ+FWbjLAV0A66J7uqPOmu0u+V6p9naGJnBVbgYj7ZUbzeXqwq6AnMJCK2Vd6qphQ8UQOMbJ7oOV9vN+xv1ziPc0OoP77dws7O2
PjL4Nbgch7S2Xl/W2mv1O1UlqR+JsvjKq9XUYUiv3FmsphccmBnbnOkCDFs2NpZbLPdmzPkVg7PW+AJfnJg66fxa+G0Fpke2VDQPlzrN9Ua7U1/f1FZb
eL0+yhWXoDaG0W4stzZWKD9cg8tjtevNhw+bEiUV2wFeXb579+6nqumFrypBsoLYgSkXNDeWWo82VrTNR3iz1R4VkAtwdhShhVeYeMzBudGqIAElptl6
8wuNlWp64WcKVCJ7OeU0idxeXmusT5iDqG98/hGXkfGqpUYdN3A1FdNrmHfSqAazo00Z52coFRNa3qlmJ/RL2S2HzgEaqX/z7U41v/BtlvkY3STpmkrk
4cJFv/4yXBhHGXKFClfGq0fYIraLIV+8B9Mjhg3lVdkiQThC5BsRjYtwfqzmaXiF/zcTd3W+S3TT2z3pTd1nobpsW9vGju+cKFRIfQAzoQ5EpumrzDW8
ZZI+z0JOCKTlKDjAVV+DvAAG+7MS2p8TL3TVWUDLu6S7t8aIIX3bPuQ4AL0cvUGOcwFzzCNeIEc233R081WnoLzi6Ia8FFSnoSLKnDwLvwyl0GhU3NYa
9YedtdiEzhrMRmrbDfxWc+M+l/1IzUrjPq6vyJzOaBWuN1ku5amS3/77etyrOH1i+SeN3JgcmvEnaQAWE7O861t7x7tcfVGGzqUSPc/hOPWXIMeMSXl5
V4t9GcR26MGL4aHXAbq6R+i2T6SvNjaQniMd4BA6WoaKuGxljmL53k1smCrD4/ca4i6WFdjdQTTK9UJi82GA6wsyrJ5fhpyLfWbjiQynvzsM3y8kDsFD
yoPIffU+VERysFi4V6GwLQAT1IFogwNc9QMF8gKaFG+LQv7s4tBjLcU2nZyMnTl+MnYoUzwbzhRXv5+G4jqx/BPw6S35NlZy/BDnO/FqVpTt0sdju0Ao
MkcSiv/XXPolqGBi9YhDenzZXoNCTzzQNSG7Ur7hhQPkIEksNUwSU3+UgSy/UEpg3NjQjlRi8MpYnlVc2H9tmJbA+VMWmY/Wtjy962nhSLGyAPJwpxMn
AMhAqX0iXkASJXrqZX4Lw9rRiKVvmYQ7cQp4WsIbHBx5yK0UfcgNPQfTfcMSoVbcKcjdOpW+YbFAK3bYlXgDo7vni8DiCgtBoXibDMqiixdghuINY7Qp
5hTDpB2syDBtinsX8p7RZ6prOpG3OgwDS0z0OSh7w6Rdt1ZNDN9m+Rgbep/gSAvmMTX65Ct0rWaEx1SU1Sbk+ICoCumeHviNe/oBe0rMtL1J217btD3M
sdTPQYYW0WUA19Mdj5NCvF7AIIwIF5gjhVcKS4hwK179RSgG3yDyVHZ8qnqDnDxeDpg4lXx7kx67vVG/m4KCVGUT9oDj98w+2XY8EXyf4ZFMFMJD789D
3ujvaMO3x3JGf+eRYyIVKjzFQoZtcVEqcSCP2xpd//yx1z/EdoWjsp36tSxkJqXgxF+8Hk6qIHElE05cuQblvu5QSeOVIsmIwzYZyjnIPSbMRhbOZl7i
zmlnn7gigkyUqFm9bds9njRREI9E2XaPJUxEF6w4umDzLIHf7vepUpdqJgxiSpCpFI8HrTM9k8ZlAWTh6uh5mNn2zW3DNPsUsW/3CH94rYiroYp1Cg8z
SSXCJAgynr7Dwx6KmP0eY4rpYzPFm1DdIwdcA8otuZoYJPCAHDC1yDflqb1w0UU3oSoMg4Mg4G+GzXZKwkXI322YDVsBATZi2DOhzV7E8O9CJTJ2QnBE
HaaGX9PTPV3orIsTvgWX5Wes6J6uLkJB1hz1Dk399xSUQtbK05aVGzBF9xaXmKTrBbGYfAtqB0CGpj8Jo2UFmv4khLYIZ/u+6RkiVMQNdlGe1/sMq+Rf
48qdNCon+VE5uQFTQc6lZRoWF7QCrsi8SwYc49bicblV/VEacpOT5Z6uPhoqG05KqWwiSiU3UankD1EqhXGlElIBxYgKGCUgPBVxL51Q3G/AtD3wtB1n
KL/lILz3vjMYpulYxPVITxPYPOiriCsc3GLIrroD6Y7+JMgKVEJPYcUvaiCL6fBt7mhUcmY0Kln9gQI5brmferDrUNEHA9PosrTkIKi/PAS2rHj1n01Q
/6PTz41N/xsKVB5ZpuF6H3+E+Gk8Pz/Nx76HbE94NvrDffXoN1NQYpGDJyErggydenD3Z5vsKUz+oKO8++OlsSXIHG0JsvEnuYtQpKOFk8AKHFD30D3I
y6jD5EhVEYTY0d09LNHV31OgFKr4WN4iuwwQPMXnSXtavr/nqV9VYDZILgqv3KJYDCXxtdgQtliskz6BqO4D8N5c3/TQG1AQniHpl5pPGJ701jkiDlqE
OCYV4RgEmf4wmo39Vh2oRLoJfAZK6GGZ0VdQU+OvoMZmHqVjM49OlW2RiXvlzDFO8crZ5Bw99WcKIGz8fCTWXgZgnxoOXS8yCDvkvgCIVzNPikyg5AJf
ZTXMnSKSJ6MJM7mRhBn1rxWYZd8dPHrzEeVrB56e9CRPT2bU03Me8i4h1jBhKkeLp8vt+WA27l5LTD2R3Q7JIp07Umrb3FHSLOYOuXWbm3gpcqrs1LmJ
u+7cZCFd/PsU5DZZDdqAgsz8QGqsWzOSFjJ3JRGHm+BvQTG49kPXY99yit4qzj07GUncHLagFLrIQzdiHbmjF31zFxLv89CbkGWXbyguRip8TTc3n4zA
J7f4DynIrBPLR58HYLNgl1PocoIbnd9+xPYbuR+5qbykoIeQ4+5oFHdECC4XYnuL+LFZb++GHhkWb3Ci+KC16EvEc9eSH/GU2bgPADZN3eJmLYqbT8Ti
nZvkRV/8RgrK9ZBYohYUae/cd34j6TYkknU5cQS0wTvkS/VswlIdo793YDqgWt1yHxPnaVF28T8zkGN62kWbUAxe7ovtf/TNz1iJDb8c+eXQO6HiLUC0
MKnj6IOBh/b/CKYpnUNPj8Qu3/jTJJPJ/eWQ2Rju+2lx8ybnZm52xM54/L2PyTNuQTlguFarHatuR564mNzhl2Am+LKg1yN9/6ShJdP9sQI5ZoG4R6DF
uIk2eeodTovg0b5PJPU5Yv5MVhrfSkG+LpL0hDbixVhtdAzZfjdE6WBLOhKlkweWjLYV6nuY0zSp75EnGA4fY/H3FcjSc4aLlsU/9TnkPDWZHG0oBpOJ
Xbq4A93c5cQh6aHrFIbi/wUAAP//t2259Q==
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
