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
eNrcfVtsJFmWUEW+82Smnb7tqsqy6+GK7uqpcc9Udbm6p2umm5lJ2+lydtlOz81093TPskE449qOdmREdjyqygMCpF2J1fCDWDSLQMCuWI2WhZVYCQkk
Fr5W8AO/SCBYYD/4AH5AGqRFAqH7iozIjEi/qrtHfDnvuec+4tzzuveecw3/Mgc3PeI+J+7Jw6EVHJr2w+ePHvZ1y3owdB3fQXOi9gGvffD8kfp7Gcit
6ZaFFqC0H3imTTyvoSwp97M4LNO6oaX7B447aGSWlPtlHJbRPOQ933FJI8sqeIG28Ijvm/ah18gtKferOCyjr8GsaZDB0PGJ3T/RjslJI8/azkTAz8gJ
7aQfuC4tNgp8WFlG70PhuW4FxGsUl7L3KyuvP5j4tgf0ux58xLBatu+eYNFk4dtQiYBRHbJ0Egobgv6kH8VQxdfywncyTxT1dxQoPyNDn7VHCHK2PiCi
Kfud3BYtQZVRRnPJgWYaglrAYJgctA20DHOSqBpHNQ1GuzKelRVdCm8b6HWohbgvTIMwApZwVQI/Ng2y+ujTh4emfxTsP+g7g4eCPN88CvYfxpnEe8i4
4/3h/n6B/XoMf7KYxElDS7dTOWlhKuupP1WgtE76pmc6Nvom5GhfjGyVlesJS7dr6fbmFczQ0DzkvGNzyAlKobSEvgMlixz4mhP4jSzjgTtJHQX7lukd
tVzXcXGRNugE/moZik7g950BUf9xDnJ0NMptxDaGjmn7Yj3DMroGhQHxjxxDLKoo0fUf6v6RWE32Gz2B/OcBcU8aOTYpNeXrHvyAInG+5A3Qd6F4RHSD
uF4jz9q+kdZ2k6Px1rIRnc2+Y3BZqWL2G23AjEf6LvE12XUxlVZdhsj7xjUvUvLQEyh6Qb9PtUOJrdrtpA44Bg4sgiU6WoJK3yUGsX1Tt7xGeSl7v4yj
IPRNqkLI0GsAm1oSP3R9MsQci4pr4FqNChfXwLUWngCMqHkecV74DlSjtDyXKvjDAuTovBK1QJSbMqnclE3kplyEm8TH5sOPHfFXIZW/6Kym81cxlb9Y
2+n8VYrw1yKUqYxqrKLMtBC1DfYqrUSQOzAti61rGbPf6G3IMTtSYTO4mTCDDccdbJjEMjDDpOwx1F3fa1RT2WNXd33Mseighz82h40amwz7nSAFMxeS
gjFenp3k5Yic1M8nJ29BztePSWMu9St7+jHBDAk9oDQ5JF4DsUEaiTQ5JB7maNRguCTwiOaRvmMbXuO1JeV+DVcZsMthX5EY/RUFcvTLEsXoLlQ/8xxb
Y4JDXNG6QmG7HIRuAQz0l5pF7EOhiWu4PNBfbjEAFURn6JuOrVtMsEo4LFNB5Osr7Kcoqe9COWTCs9t49bcVyFFOTFMIB6ZFGFwoBFmmX9l3bJ/Yvuaf
DKUrVRGw3smQEccnL32pG+hv1ICiQGHzr2JZjEtlIS6Vqg15xhvoHsz0A9dz3JC8fMI1DpUEprPjaFzviDXgMMYwdDy6Bpwl+RKUBvpLNoz6KVSjMkWp
zqVQDCdKkdUQRpaXKOV8MqCujaRMWFb/mgKViDQxv9PX/cAj1IvN3s/jsHwWXroDrKiRzwMq38JJo6AWg1CSHZi2bmnhKDk2So1BuwKo/kYGSph4Q8f2
CPsuVsG+N49FCa2O1HGGyfz9BCmWvZyikrMRlYwgRw2lZBX6G70LRaK7lklc4VosThkLS1zK53xNqa2pCmVyWWmvtymthy7xMfk8IJ5PVR91Faf4g9SV
xwwJvQclV0yUdX/Kt4TIdB30PpV8aXZ5Sf3bGZgRbmKHO4XoXeqRUH6jM5pJNBMClS45wRybCuSAeJ5+KD9cFtF7UCDUBfXO6qoKdHQTyi45IHTTQ8SK
jgBoBa6Sl0PTJZ6mH/jEDdV7nsnga6KySeuElqcG+JiQYWM+1QCH+xvMMNW/r0A1OjlKSWrvfLnmooSuQkFsb8S6u2xngyDXdwwpvOx3lFS5OKm+S7eO
z4lLu88z8ie5OBumbZj2YVdg4rDN8q8rUI0uDroFNzp7vbXOdkvr9pq9lra3091trbU32q31+hV0DVC8er2z06orqAHzcfhGs73VWq9n0A24Gq/Zbe2s
t3ee1rPoOrwWr8KtHv6knlsewOzYlNES3Nxos4Zat/VRC7d7n4xNbQGuTWC0MO7guoJuQmOi7uMm3qHzyFxm7/evcnBncisntkvn2v6N9ovqP83ALCZD
x/WJIYUsxtrKJGvnjk2bc9JMohcl+nlm2gZmuK94kx0qgfxFlUAhTQkUz6UElv8CVCIfS5deMtmz9s76GNNchblY7XZrZ6+uRKWAgbu9Dm5pzbVeu7NT
z0z02e61tmVt9jLs9M9X4FYCO7kGcS94lrBwGnuewot/Duo9V7c96kBcyAK9D0WXtxMG6G4CftvedwLbEANg2UL9DxmYiddR/chYXbiLjJVX5S6Puwbf
OHWEhP3e5sjB4Fbnwem9THczchE34w5UXNIn5nNiaDr3QLMYJKjpf0XbiZ8WoCKX13Rs9BjyjNnE0ib5CjvkRYeibF7BHBctQNE8tB2XGOGhkwSgFlT7
ut0nFh+AKZlkWV6LoG1ewbFm6HtQosy0r/ePGVmTuajJXJQ1gbh5BYeN0NuQPyB+/4hpmeQt4Aatp1/FEOn+X8hJo8jaqImOU0xL0y8XjdDaSL1SnGkH
QVzjUqzNK7jijYq0kwGxA01KUDm1k21iB4ItaSeDUZF2whZKC4YG1dCQ2glb2D2GRTtxRkX0Ad0+BS71iSus/VLSGnKM8FtkE64ELKJ7pFFN5QA2OuZo
tLFoQU2LS4YWd3CSm4ZyObROMMc+v+u2WqbGSLdN+1D9j3SrFFmIcWOpnM1YZpKN5WNpLLPMWN5KY4qYqbxG/UXdc2xhgkWJSndg+6YllAovUIXj9NkF
AFM4Ba5wJKjpqz+CSoRnXu0Hqn8G8kycqKk4w+G1OLqOjsA5dnIExiRtQ/0DBa6HhomNRYwv3T7FtlfZc2yv1DrMxLWV+scKVKNsPLYTroU74Y3xnfA3
ThGIc+yGVahJwmsD3T0WrMY1QdvY1t3jS9kbDNWonk9ecSVxxSP8n4nyv/rPFKjFFM95exVUluconMryVCobP8gaHjm23ITxAt2CWU6fm7d8qqUQM9wS
mDhso/4IZscq0QKUKIH8wJC+flimGwHLsQ95JZ/zCIBmIKP7bNJZnNF99bcUqES0+rlIswjl/pFuH0YEvcQBsdXIxrTRI+lB5E71IIT/oH4HqlHVf545
qn9chJLs71wfN67vMmfTd9lkhX4LgA/ITiTFyQODsPPI16FmEMukdOAY/IaiKoEMSYWa6Wn7gXXMJy+OIiumtxpYx/wL34NSP/B8Z0Bc4ZUkEXhNoOAQ
Ga1A3vTJwGuUUq0hp4xPBpijoidQ7B/p7iHh91BTXIbmwAlsH0t09A7kff0lkXdUp7XjyOgDKBum16cgT9x4nNZy1AC9A8WhfjIgti+uPhYSj/kZBpao
lI37TjB0bHYDUsaihFSomrbnuwFT0l5jhi9YFIbegrlwValw+eaANGaZ6NVlxbqAo3swwznEC/Z9x9ctduNRxlzfdgWQcgr7oUnKz/GBGXBNkPcOVDgS
JzLirMtAPUbJBShJwrC7izIOy8wx4KzKZjHPG3NeZVO4BzND/UTft4imMyo3rvKZCignPWV5w/SGln5C5eIaZ3kBaRt0mKFLhrpLtAPHbVzn/ocAbTgu
ugXFfuBbdNfWoIzO3EUO+DVFWQUoaaKo/kUFSpKn024YuGLORBXzPOTJQDctGWzBCpRPdMNwiecJFZXEJ02OgSWq+m8UKAogugoFy7SJ9kjMIU9Lj0Lw
ipwFLa1wXW4bzJpmpS7nZXbWZ/on8vCZ/kZ3oeoF+xo1D5Y81SvjihfsbwkQtbhD0xYHJvRnzGAUpxmM0pjBUP+zAuVQ8iNnkkr0THIBSp8HOj/EzPBw
F1lmtHfNfhjSwgoU6pu+FZpKVpiQqnyCVD2BIr9y8sSdbaoO6DA0LNHRdSiyBTANQQO2Hm1D/T1pBHmLL/orI/PIR+eBFqFAud/m7nh+8woWZcrwZShq
vKTqYrpC0sJRlOgoyZEzCHLu6OqH/Q5PlHOjE2X1EyjujlQgp6A8n+YldgPA5V94RryEbkPFc5+7mu++HFnEMgX13JdtQ/0nGchza3UDSjEznMVF4Uie
x9V/xQeVcVOdP9VUF85iqouTpvoCFlf9dxlAzf6x7bywiHF4sfO2B9IBy6SedES9L8r1er9Phj7hlC3hsJy65VyEMtXkGrN4fNtZooAetXTsqIuiaYzr
OP2Ag9Ycg9AV4G4k25kWWXPhaRpNHz2AeSfwNeeALmX/WKw6p2MZ153A7xx0aQ1bew+9CbOm/Vy3TCNE5WEzNQHmeOofZQCxL+cXj18KcUe7i2xsd5F+
oRMnTn6cOHehyig/MO3AZ1eNFIGZ2m0OGqd/cYL+XxSB/5cCs5SbvU6n+6VQdwmqVG7CWWXZrIDCxNTfgBmuzUKcHMOpcqjAugWgW5bzQiOGKaMbygzS
MkyfE5Sf80WOUiSo6av/PvLhX9il6DtwTXrz2kD3jomh2cFgn7iCteZl7Tar3GF10lXIjVyFcx+LLTsAo9MotAjX+W1I0vXgPNSjlZ3d1k5dQdcARaFr
W50uuxocg+829yj8Uhco/6cItyfvM/jd9UVvUKbfyJxyf/KXMlDjJz1flsJJurbnETGD4SgiZjBEb0L1BdFd0z5kDMUZf/MKrggoZaRfU5SRd12Iete3
AYa6qw+Iz0PklPtVHIGszkJNi3av/qoCjTCYQR57fflXSr+ZlQvyhYkqCxUSosopl5WhQhy6yyg4WqtcbK0SfaN8sm+UEB5eSAwPDw/Ri+c6RG+O3R2U
znJ3EL85OP85/CXk/+/l4Y0E+X+um5a+b9Ld00Vjsv+TAoipwUtI86s9dEKQc4bEFoF67Pdp7sNNAD9wbc2xR5asRCEdu+mrv5+BOWrHfmG+8CaUxdKJ
PRa1yxIwYf7zZzD/hWTzP80fjdOsFKfZZXj1v+VhcZLlPnvhpyeg/I0sVD/0HPtjst9zjokdCQNUYmGALagekxON2H3HMO1DERiSdDAd7e4ZOcGVY3LS
Es3QB1DoW7o5kHfib5zSwRpFxqIN6sRMBI/wf3hKDw92wxb8viLSBfo61C3zgB2ojQVvzUq4DNwaxU0WYnGT0fjIYjw+cuFPwezY6Oe63HBgboIW50h6
GS1lNraUDSiKbCC5VxDF5SHMjq0eUuH2h93OjvZxa1XrdZ61drRnrYRAqQQc3PyYB74k1K02u61vvXO5SKl/8BBen+R2g3h91xxOd8+mSYk6B7PrrJN9
uV9Wf5KHyvqoYzQDmfCsJ2MalKLPieuZ4VWSLLLcLdpr37FkZK4s062XPPBkKyquxgRshy6sCtW+PuSGxiRSI8VgaBXgudPX9wNLn5qW8FGI9NR1giGO
tEJPoKiLI7Ri6hmZcHIODoiLJTr1F2Rqmeb1j8hAFwkKMxLcZVD0bSjLFAx5/J901dASOHiEjR5ThqWsK8//b6QmDmCJid6Bosn9D3H0vzDFQ5Go6BEU
LHNgsnQHJWWkLYaABSL6XjwrocYGS7qBXwuxJhJwho5lyayIxDttx7Iwx1L/rgI5Wk7UBEtQiUiADLKOgNhpPHFNxwgVHufLGodKdbcI5SFxuUGVkftD
4jJDSjnXsa0TbUhYTKXY4VYobJeD1F9XYHaM46iaOqQ/5LkjK6DrUHRsjRpZNt0SLjg2OztehLJja+IoUZwkObY4cn2HOoEn0ggsTeV3aoUYtvorCtRi
8EQivg05N7CIsHFJDiZ3LgOLYIZJFQDb3rMjLyqiskj7D2wzzBygv9WfKVCJCFOaSudntJnoGe0dqOyfaGHkEicK7J/I3Q96C+ZG5k0KJI8bq48qhEje
gYpHbMPTyHOZxVDCwEAtClH/SIGSFMgLsts85I8cz5dnKbzAMnmI65sHZp/aTaH5IiCqVyLFaJpqBEwX8H0Al2IwaRTRWElLhnWfMMnFZVf+VP+6AuWw
giprsamTIRJhOUFsMkliMw/5/cD1fCFUvIBWIO/1HXGRO5M6vS7FwRxV/REUuEq7IOFjApyNC7D6JwrASB1dcITHUHD0wD9aEZEqSbqy06QIm1ewQEVr
UPbMQ1v3A6FXkpOHheXtStTNK3jUDj2G7Gcv/CnhW1EvZvMKptirBR7nqf7XPBT4tNBjqpB0kXGaHDbFunhKkTDHnZpbmJSRughln3aiBa4lOL3EAHuu
xUIiLJPY/mhLXuIAnmcsKoUfJ64OOFBwRwdmKGXpSoqYkSL7mK8lWSDWsBlDx2PNWUo5Y9aSSCmnBZ7CduAS70hjk2eRg2VcFUC+eWjH/HNuq7+eyhVT
PfORu11JdbercXebzpF+i+OaPyaM2vwKvhoCKcUJzI+QIrPlxnclfbZN2Wp82q/pkzWXdP0XNqCRNt65thA/z0B9XJZS93hrUNatQ8c1/aOBMH73kjwt
2VFTIuNRO/R9Kh5ik8ijEd+Y1ofcGeKwVWyJc2NLPGKLfIwtQgoUojugr0OdbuE8Xx8MRe6p2KPNhnCRFrcdRT1w3IHYmifvcXsSdYNhRrrjAPW/F6Ao
nMvEAPP3oTgM3KHjSS9jyonjLkfEsgV6AgVm2WW451J6W2bpCRb4EfLlUpL/8jGOuAaFoUsOzJdy08tL6LuRRS6mUknMIWGJkxamlLwwb8Gc71jE1e3+
aI9eZta1HlZI8xu9IAa+E5MXxPMypJ/rExGkT10g89AmhsbyO6vidImBeuSlT/2Q0Ux5B1yrzIRgnoS5k8BAM4w0r6eTJuSjCQ6iPrbt0G8W5JnlBpjB
BGnehNkwuFJgRWOA2obAexfyXGfPnXZUy9Q45tjMBQt9BKoqfREZNDMCs4TbezAiBsfjMUK1EMrQKK3Z+Rwn49XISR4nIeXrI90lBgsiSvbquwxB7tsE
voqhFqugjBCeBSrcI/fEGeCbMCurJNW42qwJDE419Q9H8bPcuk17okIa/kzE8F+Dgul5QXihJkqUXPyXFj+GqXFolwPZPXpgmCw/S3gGskzlR/4OO+ES
Oivhoht1FQp8w8rShMnAcU+0wb70bzlge59WmrZ2YJmHR75wbUumvcHKyz6Uwx0PWoBrHzW39loa3tsav65bhOuRuo83O1stbWdve7WF6wq6CnORys5O
S+ts1DPoOrwWATd3PtF6rR/26tnlLvfNmVdMR8XNXkvrrnV2Ey4JI3XsBrCujEE7eL2F65llC2Dk0tH58kOpp7i50xvrVoXb0cq1rXaL/sGt9dZOr93c
6vLjrSgObm3gVneTn3TVM8t/HuaTfC50D+6K7pp7vU3a3Vqz1+7sjM3gDiwmo602u+21uoJuw0IKQmf9k3pm+WcKoElzjV6HO932051mbw+3tObW0w5u
9za3xwa/C7eSkDa3m2tad7P5qK6k9SNRVt79Vj1zGtK7j1bq2WUX5iZcAroAo5atnbUOy7ecOHtMwNls/ZAvTkKdPHtc/qsKzI4ZcrQEN3vt7Va319ze
1TY6eLs5zhU3oTGB0W2tdXbWKT/chVsTtdvtra22RMkkdoA31h4/fvztenb5bylhgpqw+5QL2jurnb2ddW13D+92uuP8fwOujiNwdlcoecarwqTDhGbb
7R+21utZ1ID5iarWzl49t/xzBWox34LyoMTtrm22tqfMTtS3frDHpWeyarXVxFROE3qNclVshrIpk4kcpW9Ky0f1/JR+KSMW0DVAY/UfftyrF5d/g2XO
x402XW2JPFrS+NffghuTKCN+UeH2ZPUYwyR2MeKYz2B2zNGiXCxbpIhNhHxjQrMI1ydqXsVx/f/NJQVSHBHd8o8ueoX6PaivOfaBeRi4F4ptU5/BXKQD
8VLBt9iZ/b5FBvwVi5TIb46CQ1z1PSgKYOgOKBF3IPV6X50HtHZE+sebjBjy0iGAAgegd+LxBEln8xzzjOEEMVufjdt6dQaq665uyttadRZqoszJs/xn
oRIZjYrbZqu51dtMjN9pwHysttvCH7V3nnLZj9Wst57i5rrM8I9X4WabZdZfKpLnf7+Z9KragNjBVxLH84+yACzGa+0osI/Pdyn+TRkKmkm9MYjmXbwN
BebaykvXRmrOqMBD7wP0dZ9Qf4HIM/bExBCOdIIj6GgNauKSnB3wy+fUEmM8GB6/jxJ36KzA7nziUds3UpuPAra/IdNE+CXWtcRXnF7K9JDHo3SUUuoQ
PEUizERRn0JNvCQhFu5bUDoQgCnaQrTBIa76MwWKApoWP44i9xDl0U2DlOps+ssdufO/3BF5ViQffVZE/f0slLeJHVyATx/I1ynTg80434l3K+Nslz0f
24VCkTuTUPx/zaW/q0C1S7G+/AzWtyFHdaq4E7iZklnOmAkzTPWXoIaJbRCXGJzH3oOSIR6rnPJugHzPEofIYQZqZpSBqv52HvL81jJFys6TZ52UxJmU
c9MY5QRxYZJFdqbv2L7e97VoDGRVAHkg34Wzb2QI4HMiXgMUJfR1qDPTZNqHGrH1fYvwA7ISnpXwFgfH3n2tjL37+ibMDkxbBBHyA1d+ZFYbmDYL2OMv
swq8odk/DkRUf43FOVG8XQZlof3LMEfxRgkSFHOGYdIO1mWOBMV9DEXfHDA9O5sqCD2GgSUm+j5U/dFzFF6jnhozyJKhdvQBwbEW7DTaHJAf07WaE6fR
oozaMOsNSd/ULU1ODaXeR3c5ppjhjBcteupnUIshULYypM9Xxuw3e6rTcvxpdr9rOT7mWGkptWobCmKQOmQNPbxKMPSTcw6hfh9ytIhuAXi+7vp8BcVz
QgzC1u4GOzrjlcIZJXwjpf5pKIekF7lthwE1b2GeMi+HspdJv6TMTlxSqr+bgZI0F1Ps7Pl7Zp/suL42yk7O4jKF8HSd61A0B4fa6PnQgjk43HMtpEKN
p2XJkEauASocyGMax9m2eG62jUhL6azSov5qHnLT0vaSgxJOJ1WY7JaLJrvdhepAd6mC4JUiMZHDdhnKNSi8IGybIu4feInfV7jPiSeiK0WJ7mwOHMfg
iVYl8c6j4xgsySq+YOXxBVtiL+o4gwG1RVI7RkFMdzNN6PNEF6Yes7gqgCzFBb0FcweBdWBa1oAiDhyD8LdTy7geqdim8CiT1GJMgiDn64f8VrKM2e8J
ppg9N1N8CPVjcsIVt3R76qkK6xk5YdqcOz4zx9Gih+5DXThfJ2Ew7Byb7YyEi3DYhzAf9bRCbMSw5yIOlcj7OYJabOyUwKEmzIy+xtB9XeisxSnfgqvy
M9Z1X1dXoCRrznqtqv6XDFQiHuGrlpV7MENNokcs0vfDOGVuObshkKHpL6NoeYGmv4ygrcDVQWD5pgij8kLjz98CeI1V8q/xpAMQl5PiuJzcg5kwT9u2
TJsLWgnXZK42A05wa/m83Kr+2ywUpifYvlp9NFI2nJRS2cSUSmGqUimeolRKk0ologLKMRUwTkB4JeJeuaC434NZZ+hrh+5Ifqth6PtTdzhK7bOJ5xND
E9g8ILKMaxzcYcieegjZnv4yzCRWIm9TJi9qKIvZsXf9YxH7ufGIffUPFCjw3dGlB3sdavpwaJl99pRBmGVTHQE7drL6z6eo//HpFyam/xMFanu2ZXr+
V589cZnDt79TSvyXBs6Uf47xxT5D+JczUGFRtRchK4IcnXp42+tY7DVr/iazdLZ5aWIJcmdbgnzyBnQRynS0aOJoiQOaPnoCRRmRmx7FLQJ0e7p3jCW6
+psKVCIVX8njoLcAwtd0felPyyd0ffVXFJgPs/2iK7ciFkNJzSSLYIvFuugrxurvKAC8Oy+wfPQBlMTxmzz8W0oZnxjbHBGHLSIsk4mxDILcYBS1yX5f
4N1gF2qxgcPTESXyPtf42+eZybfPE7MHs4nZg5dKXsolvVTqmpd4qXT6+bz6cwUQNn8x8vdvAbBPjWaClBmE7Yu/AYhXszMjmafNdUSd1bCDI5GjHc8/
K4zln6n/QoF59t3h22Ff0rMQ4ZlWdtqZVm78TOs6FD1C7FH+YYEWL5cq9z/mk24jxdRT2e2UTPCFM2WKLpwla2nhlLvShalXWZe6mVqYaqgXpgvpyr/O
QGGX1aAdKMlEKqQmHuDGsqwWbqficK/9IyiHl7Uo8T9Ojd0FL7wxHUnc93agErl+RfcSz9fHr2cXbqTewqIPIc+uTFFSpF30cnVhKR2BT27lb2Yht03s
AP0AgM2C3RmiWym3G/xSKrHf2LXVfeVtBW1BgR+8o6nH9Im9xU7sWW+fRv61gHhHGyWHPsb//8DC3fSHuGVG/TOAXUu3uSeMkuYTc5IXpt0XoDbk2d0I
Sv7/M6Nbk4XTktpXfpKBajMi4agDZTpRfuFwL+2+K5YPPX2yO7xDvupvpKz6Ofr7BGbDBWja3gvivqpFWvmfOSgwle+hXSiHb6km9j/+BHii8Ecfkv7l
yLPh4nVWtDyt4/gTrqf2vwezlM6Rx5ISl2/yMaXp5P7liNMa7ftVCcYuFwzuwSTOePKFoukz7kA1ZLhOp5uoucce5Zne4S/BXPhlYa9n+v5pQ0um+4cK
FJgz452BFpPe3vSp9zgtwmdUv5bW55gnNbXXlZ9moNgU6bNCsfFiomI7h2x/GqF0aN3OROn0gSWj7Uf6HmUbTut77EWW08dY+S0F8nTL4qE18V8BT9nN
TSdHF8rhZBKXLmk7uXArdUi647uEz/n/AgAA//8i8Jwx
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
