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
eNrcfV1sJMdx8M3+b+0uuWzx7vZ4f7w5nXympDsdTz9nSZ/tJbk8ru7IpXv3JEv25/mGu01yxNmZ1fzwjv6CJIANxHBegjixgTwliCEgNgLEQAIHiPNm
JA9JgDwFcIAYiR/yEj8FcIK8BEH/zc7sziz/TpKRJ25XV/9MdVV1dXVVE76bgksucfaJc3B7YPo7hnV7/87trm6atwaO7dloRtTe4rW39u+of6ZAZlk3
TTQHhS3fNSziujVlXrmZxkGZ1g1M3du2nX4tNa/cLOKgjGYh63q2Q2ppVsELtIVLPM+wdtxaZl65WcZBGX0Kpo0e6Q9sj1jdA22PHNSyrO1UCPyAHNBO
ur7j0GItx4eV5aU7793eMbxdf+tW1+7fFt/14q6/dTtKAfc2+/Q3BltbOfbrLvz1xTgyDUzdSiTT3ES6qt9WoLBCuoZr2BZ6ETK0L0bE0uL5W2Od3do0
dWvtDGZoaBYy7p4x4HSlUFpCr0PBJNueZvteLT2fvllavBrXkb9lGu5uw3FsB+dpg5bvLRUhb/te1+4T9YcZyNDRKCmJ1RvYhuWxiRVxUEbnINcn3q7d
E2srSghBZqB7u2Jh2W90D7If+MQ5qGXYpNSEr7v1BYrUsDznAPMG6LOQ3yV6jzhuLcvaPpvUdo2j8dayEZ3Nlt3jjFDG7DdahSmXdB3iabLrfCKt2gyR
940rbqjkonuQd/1ul7J+ga3albgOOAb2TYIlOpqHUtchPWJ5hm66teJ8+mYRh0HoRSofZODWgE0tjh/aHhlgjoWqkPYds1ZiNKc/5+4BDKlJ66nA8DWk
P6kA7uumT8Tq8cLrqXvK3OtQDtPyOG3VH+cgQ+dF6W7pfSJasd8RbkolclM6lpsyIW4SH5sNPnbIX7lE/qKzmsxf+UT+Ym0n81chxF8XoUhlVGMVxXnl
ZoEpPmuJViLIbBumyda1iNlv9BJkmJIssRlcipnBqu30Vw1i9jDDpOwx0B3PrZUT2WNTdzzMseigO181BrUKmwz7HSMFUyeSghFenh7n5ZCcVI8nJ89D
xtP3SG0m8Ss7+h7BDAndojTZIW4NsUFqsTTZIS7maOg6VBziu0RzSde2em7tmXnlZgWXGbDNYZ+QGP2WAhn6ZbFidA3K77u2pTHBIY5oXaKwTQ5ClwH6
+hPNJNaO0MQVXOzrTx4yABVEe+AZtqWbTLAKOChTQeTry+SrgEVJfQWKARPGTiv2a9TvKpChnJikELYNkzC4UAiyTL+ya1sesTzNOxhIO6EkYJ2DASOO
R554UjfQ36gGeYHC5l/GshiVylxUKlULsow30A2Y6vqOazsBefmEKxwqCUxnx9G43hFrwGGMYeh4dA04S/IlKPT1J2wY9T0oh2WKUp1LoRhOlEKrITZZ
XqKU80ifWlOSMkFZ/R0FSiFpYkaVp3u+S6iJlr6ZxUH5KLx0FVhRIx/4VL75aEBBDQahJNs2LN3UglEybJQKg7YFUP1OCgqYuAPbcgn7LlbBvjeLRQkt
DdVxisn8zRgplr0copLTIZWMIEM3Sskq9Dd6BfJEd0yDOMK0uDhhLCxxKZ/zNaV7TVkok9NKe7VJaT1wiIfJBz5xPar6qKk4wR6k9jdmSOg1KDhioqz7
Q74lQKbroHep5Mttl5fUnyswJczEFjcK0SvUIqH8Rmc0FbtNCFS65ARzbCqQfeK6+o78cFlEr0GOUBPUPaqpKtDRJSg6ZJtQi56IFR0C0CKcJU8GhkNc
Td/2iBOo9yyTwWdEZZ3WCS2vfl+BcngoShe6e3lyBUUJnYWcQ7Y1Qxq9WYdsN5k+7No9KYrsd/jDM9EP/yw95ewTh3afZcSMM1hWDatnWDttgYmDNgvf
UqAcJjW6DBdajzrLrfWG1u7UOw3t0UZ7s7HcXG02Vqpn0DlA0eqV1kajqqAazEbhq/Xmw8ZKNYUuwNlozWZjY6W5cb+aRufhmWgVbnTwu9XMQh+mR6aM
5uHSapM11NqNtxu42Xl3ZGpzcG4Mo4FxC1cVdAlqY3Xv1PEGnUfqNCe5v83A1fGDmTj8HOswNzz9qX+RgmlMBrbjkZ4UmQijKuOMmtkzLM5JU7E2kejn
gWH1MMNF81BmJ2VNcKHQxgyGGSsuwIw8ZGsc1egJBpyWFW0Kb/aGIp09qUjnkkQ6fyyRXvg1KIU+li69ZLIHzY2VEaY5CzOR2vXGxqOqEpYCBm53Wrih
1Zc7zdZGNTXWZ7PTWJe16dOw0w+fh8sx7OT0iHNCz8DcYex5CC/+ClQ7jm651Bw40X7yBuQd3k5sJ9di8JvWlu1bPTEAli3Uf0rBVLSO6kfG6sL4Y6y8
JM9sfKN/4dARYk5va0Nzge8htw7vZbLRkAkZDVeh5JAuMfZJT9O5PZnGIEF17xM6HPxuBkpyeQ3bQnchy5hNLG3czr9BHrcoytoZzHHRHOSNHct2SC9w
IUkAakC5q1tdYvIBmJKJl+XlENraGRxphj4HBcpMW3p3j5E1novqzOBYFohrZ3DQCL0E2W3idXeZlok/0K3SevpVDJGe5oWc1PKsjRprBkW0NP1y0Qi9
SU8PvkNNwhJrPx/30RyDd0NbiyZcakyiu6RWTiQZWwfM0Whj0YLqYocMTG4RxDcNGHlgHmCOvVSkuli3DGtH/X+QZeSgon4EV6JwJIb3C8YaQ+Mm2C/Y
nJs99UcKnA8UCxuL9D52/RIxdtPHMHbVKkxFuU39mQLlMFVHziWV4FyyOnoueeGQ9TnG2USFiiS81tedPbFbl2xO9XXd2TuVvsBQDstp/IorsStO6eEQ
3bUtef7kJfUvFahE5OC4vQoqy1Mtp7L0EaSjboXBrm1JI5oXqAlt2l2unrKJki5m+FBg4qCN+iWYHqmkx2RKIM/vSVstKFNDzrStHV7J5zwEoClI6R6b
dBqndE99HcphKT8OadSf5aEgtfWxaDpqGaaOZhmm4y3DywB8QOZ7EWcsBmGel+tQ6RHToOTmGNwXW5ZAhqRCxXC1Ld/c45MXTpeS4S755h7/wteg0PVd
z+4TR2jsOFleFig4QEaLkDU80ndrhUSfKaeMR/qYo6J7kO/u6g49uxdZqytJrep927c8LNHRy5D19CdEeuMPa8eR0ZtQ7Blul4Jc4ds9rOWwAXoZ8gP9
oE8sTzh552IdmgwDS1QqWl3bH9gW8/UWsSghFcqG5XqOzxSgW5viCxaGoedhJljVnu4Rz+iT2jRj66qsWBFwdAOmOIe4/pZne7rJfLtFzHVZWwApp7Af
mqT8DB+YAZcFea9CiSNxIiPOugzUYZScg4IkDPPSFnFQpo0Fq7JZzPLGnFfZFG7A1EA/0LdMoumMyrWzfKYCyklPWb5nuANTP6BycY6zvIA0e3SYgUMG
ukO0bdupnefGoACt2g66DPmu75nUoq1RRmeWAQd8Q1GWAAqaKKq/rkBB8nSSL5UrvVRY6c1ClvR1w5R3pqxA+UTv9RziusLKiuOTOsfAElX9BwXyAojO
Qs40LKLdEXPI0tKdALwoZ0FLi1xPWj22U6WlnuRl5gcxvAPpZqO/0TUou/6WRlWvKT0eRVxy/a2HAkR3s4FhicMk/RlRxvlJyrgwoozVf1GgGEh+yF+j
hP01c1D4wNe5gyfFb61lmdHeMbrBzTQrUKhneGawDbHCmFRlY6TqHuS5c90Vt1OJOqDF0LBER+chzxbA6AkasPVo9tQ/VqAUavFRf2VoHtnwPNBFyFHu
tzy2dNm1M1iUKcMXIa/xkqqL6QpJC0ZRwqPEGjCUo5yhk5v9DrxtmaG3TX0X8ptDFcgpKH13vMR8nVz+hdXBS+gKlFxn39E858lwRyxSUMd50uypf56C
LN+tLkAhsg2ncV4Yaccxo5+yEye6VWcP3apzR9mq8+Nb9Ql2XPUfU4Dq3T3LfmyS3s7JfBG35PE2lXgK5NZWcLIt6N0uGXiEU7aAg3LInM2EzVl2N+SQ
gcZ2PH7OL1BAh+50zA1A0TTGdZx+wEHLdo/QFeju6tYOdxPkWfOigNQ9dAtmbd/T7G26lN09seqcjkVctX2vtd2mNWztXfQcTBvWvm4avQCVBwhUBJjj
qT9NAWJfzq9YPhbiDi33dMRyT3Z2R4mTHSXONSgzyvcNy/fYpQpFYFvtOgeN0j8/Rv+PisD/ocA05Wa31Wp/LNSdhzKVm2BWaTYroDAx9WdhimuzACfD
cMocKrAuA+imaT/WSM+Q97hFBmn0DI8TlPtA6JrkpF+Lg+qe+r3Qh39k1z8vwzlpzWt93d0jPc3y+1vEEaw1K2vXWeUGq5OmQiYwFU7juf1GHq6MO1L5
FdhJXbeTXcGHOG5/IwUV7qL4uKQ57vaPX6z3B8OL9f4APQflx0R3DGuHrRbnqrUzuCSgdJW+oShD0zUXNl2vAAx0R+8Tj0faKDfLOARZmoaKFu5e/boC
teBOVPprPn5f9veDBfnI5IBFHAg54JRLy4gDDt1kFByuVSayVrGGRzbe8IgJoczFhlAGzsj8sZyRpxDFP8rCszGiuK8bpr5l0FPCSaMs/1kBxGylUwjW
03WuIMjYA2KJ0Bv2+7Bt8hKA5zuWZltDjV2gkJZV99QfpGCG6utfmi+8BEWxdOIsQfcfCRjb5rJH2OZy8dvcJLsrSrNClGan4dV/y8LFcZZ7/7GXHC/9
e2kov+Xa1jtkq2PvESsU2KNEAnsaUN4jBxqxunbPsHbE5XCcczPc3QNygEt75KAhmqE3Idc1daMv78WePaSDZYqMRRvUimhrHrN7+5Aebm0GLbjPO9QF
+jRUTWObOY5GwjGmJVyEYoQioXKRSKhwxFM+GvE0939gemT0YznIbZgZo8XRQ9xCS5mOLGUN8iJ4XdrEorgwgOmR1UMqXHmr3drQ3mksaZ3Wg8aG9qAR
EywRg4Pr7/DL75i6pXq78erLp4uW+NYLcH2c23vE7TrGYLKlNElK1BmYXmGdbMlzofrNLJRWhh2jKUgFPo2U0aMU3SeOawTXEbLIUg1or13blLF2skyP
GNKxx1ZUXK8I2AZdWBXKXX3ANxqDSI0UgaElgH27q2/5pj4x0PjtAOm+Y/sDHGqF7kFeF66ifKIvSNgb29vEwRKdbt0yE0Jzu7ukr4uQ4ykJbjMo+gwU
ZVC1dHPHudQbAgcPsdFdyrCUdaWf+0JiKDCWmOhlyBvcFBAu7rkJxoJERXcgZxp9gwUwKwkjPWQIWCCiz0XjjCtssMtxu1qANRZSP7BNU8Y5x96L2qaJ
OZb6hwpkaDlWE8xDKSQBMmwyBGJeZ+IYdi9QeJwvKxwq1d1FKA6IwzdUGYs7oEd622ExsLZlHmgDwuKqxEmuRGGbHKR+S4HpEY6jamqH/pD+NVZA5yFv
WxrdZNl0CzhnW8xHehGKtqUJl5nwmNiWcC2+DJk9ciA3gfmJ/E53IYatfk2BSgQeS8SXIOP4JhF7XJxD6W2qYFlIOMOkCoAdY5lrh4qoLNL+fcsIYoHp
b/VDBUohYUpS6dwXmQr7Iq9CaetAC6IXOFFg60AeRNDzMDPc3qRA8tiR6rBCiORVKLnE6rka2ZdxyQUMDNSgEPWnChSkQJ6Q3WYhu2u7nvQZ8AKLzSeO
Z2wbXbpvCs0XAlG9EiqGs6pCYLqAbwA4FINJo4jIiFsyrHuESS4uOvKn2oNiAKe6Whyv5C17UI6RmlSc1MxCdst3XE/IFC+oX4Ic104npGFEFtNRWVT/
SwEYapYTjnAXcrbue7uLInAhTu216hRh7QwWqGgZiq6xY+meL1REafF6bMADo2Fboq6dwcN26C6k33/sTQguCRska2cwxV7K8bAt9dsZyPFpobtUt+gi
HWwqVv+yLu5TJMxxJyb+xKWLXYSiRzvRfMcUTFtggEeOSSu7pkEsb3jQLXBAs4euQ0VUCpNMeLs5UHBHC6YoZelKihCCPPuYT8VtJqxhPYKOR5qzZMau
PZC3UbzA80u2HeLuamzyLBWoiMsCyM8BzYipzbfdTydyxUQje2g5lxIt5/LTtZx/kYLqKN8lHm2WoaibO7ZjeLt9ofNvxBkYsqO6RMbDdujzlJXE2SjN
+nh2Uh/yQISDVhFyZKLkCJEwGyFhQIFc2PD/NFTpycX19P5AJFGJo8l0ABf5HethVHpSFifS+KNdR6KuMsxQdxyg/k0O8sKmio2tfAPyA98Z2K7cXCf4
vDY5IpYt0D3IsQ2NCALPJ7dlGxzBAj9EvkxCFks2whHnIDdwyLbxRJ71eAl9NrTI+UQqiTnELHHcwhTiF+Z5mPFskzi61R0eTYtsV6kGFXLbCd//AT+A
yPu/WRnNymVPxKfSnd/YsUhPY4lKZeFUYaAOeeLR7Xc4U94Bj9uYCsA8m2gjhoGmGGmuJ5Mm4KMxDqKmpWXTbxbkmeabFYMJ0jwH00FcmsAKh3g0ewLv
Fchy/TZzmLOQqTzMsZnlEeyn2kB3PBH4MTUEs8yxGzAkBsfjISCVAMrQKNvu6g7psRCQeFu1zRDkaUTgqxgqkQq6zoGHS+F2pis8W8/BtKySROFasSIw
OFHUHw8jC7min5RKLffAVGgPPAc5w3X94DpElCg1+C8t6lyocGibA9ktqN8zWOaB2CRlmYqH/B10wgVwWsJFN+oS5PgxjKWzkb7tHGj9LWm2ccD6Fq00
LG3bNHZ2PWGxFQxrlZUXPCgGdjyag3Nv1x8+amj40cPRPJWLcD5U985a62FD23i0vtTAVQWdhZlQZWujobVWqyl0Hp4Jgesb72qdxhc71fSCCTA0RGjX
3CtyH9c3OiPjqnAlXLn8sNmgf3BjpbHRadYftrl/JYyDG6u40V7jrpZqauFXYTbOUkA34Jrorv6os0a7W653mq2NkRlchYvxaEv1dnO5qqArMJeA0Fp5
t5pa+FABNL5xoutwtd28v1HvPMINrf7wfgs3O2vrI4Nfg8txSGvr9WWtvVa/U1WS+pEoi6+8Wk0dhvTKncVqesGBmbHNmS7AsGVjY7nFkn7GnF8xOGuN
L/LFiamTzq+F31ZgemRLRfNwqdNcb7Q79fVNbbWF1+ujXHEJamMY7cZya2OF8sM1uDxWu958+LApUVKxHeDV5bt3736mml74mhJkSYgdmHJBc2Op9Whj
Rdt8hDdb7VEBuQBnRxFaeIWJxxycG60KMl9imq03v9hYqaYXfqFAJbKXU06TyO3ltcb6hDmI+sYXHnEZGa9aatRxA1dTMb2GeSeNajA72pRxfoZSMaHl
nWp2Qr+U3XLoHKCR+rfe6VTzC99hKZfRTZKuqUQeLlz06y/DhXGUIVeocGW8eoQtYrsY8sX7MD1i2FBelS0ShCNEvhHRuAjnx2qehlf4vzNxV+e7RDe9
3ZPe1H0Oqsu2tW3s+M6JQoXUBzAT6kCkuL7KXMNbJunz9OeEQFqOggNc9TXIC2CwPyuh/TnxQledBbS8S7p7a4wY0rftQ44D0MvRG+Q4FzDHPOIFcmTz
TUc3X3UKyiuObshLQXUaKqLMybPw/6EUGo2K21qj/rCzFptJWoPZSG27gd9ubtznsh+pWWncx/UVmUwarcL1JkviPFXW3X9ej3uOp08s/6SRG5NDM/40
DcBiYpZ3fWvveJerL8rQuVSi5zkcp/4S5JgxKS/varFPktgOPXgxPPQGQFf3CN32ifTVxgbSc6QDHEJHy1ARl63MUSwf2okNU2V4/F5D3MWyArs7iEa5
XkhsPgxwfUGG1fPLkHOx73s8keH0d4fh+4XEIXhIeRC5r96HishKFgv3KhS2BWCCOhBtcICrfqhAXkCT4m1RyJ9dHHqspdimk7PAM8fPAg+lqGfDKerq
D9JQXCeWfwI+vSUf5UqOH+J8J57rirJd+nhsFwhF5khC8b+aS78MFUysHnFIjy/ba1DoiZfBJqR1ysfDcIAcJJilhglm6k8ykOUXSgmMGxvakUoMXhnL
0YoL+68N0xI4f8oi89Halqd3PS0cKVYWQB7udOIEABkotU/E00uiRE+9zG9hWDsasfQtk3AnTgFPS3iDgyMvyJWiL8ih52C6b1gi1Io7Bblbp9I3LBZo
xQ67Em9gdPd8EVhcYSEoFG+TQVl08QLMULxhjDbFnGKYtIMVGaZNce9C3jP6THVNJ/JWh2FgiYk+D2VvmC3s1qqJ4dssH2ND7xMcacE8pkaffJWu1Yzw
mIqy2oQcHxBVId3TA79xTz9gb5iZtjdp22ubtoc5lvp5yNAiugzgerrjcVKIZxMYhBHhAnOk8EphCRFuxav/F4rBN4g8lR2fqt4gn4+XAyZOJd/epMdu
b9TvpaAgVdmEPeD4PbNPth1PBN9neCQThfDQ+/OQN/o72vDRs5zR33nkmEiFCk+xkGFbXJRKHMjjtkbXP3/s9Q+xXeGobKd+PQuZSSk48Revh5MqSFzJ
hBNXrkG5rztU0nilSDLisE2Gcg5yjwmzkYWzmZe4c9rZJ66IIBMlalZv23aPJ00UxOtUtt1jCRPRBSuOLtg8eznA7vepUpdqJgxiSpCpFI8HrTM9k8Zl
AWTh6uh5mNn2zW3DNPsUsW/3CH/xrYiroYp1Cg8zSSXCJAgynr7Dwx6KmP0eY4rpYzPFW1DdIwdcA8otuZoYJPCAHDC1yDflqb1w0UU3oSoMg4Mg4G+G
zXZKwkXI322YDVsBATZi2DOhzV7E8O9CJTJ2QnBEHaaGX9PTPV3orIsTvgWX5Wes6J6uLkJB1hz1Dk391xSUQtbK05aVGzBF9xaXmKTrBbGYfAtqB0CG
pj8Jo2UFmv4khLYIZ/u+6RkiVMQNdlGe1/sMq+Rf48qdNCon+VE5uQFTQc6lZRoWF7QCrsi8SwYc49bicblV/UkacpOT5Z6uPhoqG05KqWwiSiU3Uank
D1EqhXGlElIBxYgKGCUgPBVxL51Q3G/AtD3wtB1nKL/lILz3vjMYpulYxPVITxPYPOiriCsc3GLIrroD6Y7+JMgKVEJvcMUvaiCL6fBt7mhUcmY0Kln9
kQI5brmferDrUNEHA9PosrTkIKi/PAS2rHj1n01Q/6PTz41N/5sKVB5ZpuF6n3yE+Gk8Pz/Pxz7EbE94r/qjfW7pN1NQYpGDJyErggydenD3Z5vsDU7+
kqS8++OlsSXIHG0JsvEnuYtQpKOFk8AKHFD30D3Iy6jD5EhVEYTY0d09LNHV31egFKr4RB5BuwwQvAHoSXtaPvznqV9TYDZILgqv3KJYDCXxmdoQtlis
k769qO4D8N5c3/TQm1AQniHpl5pPGJ701jkiDlqEOCYV4RgEmf4wmo39Vh2oRLoJfAZK6FGa0edXU+PPr8ZmHqVjM49OlW2RiXtezTFO8bza5Bw99RcK
IGz8ciTWXgZgnxoOXS8yCDvkvgCIVzNPikyg5AJfZTXMnSKSJ6MJM7mRhBn1rxSYZd8dPJjzMeVrB56e9CRPT2bU03Me8i4h1jBhKkeLp8vt+XA27l5L
TD2R3Q7JIp07Umrb3FHSLOYOuXWbm3gpcqrs1LmJu+7cZCFd/LsU5DZZDdqAgsz8QGqsWzOSFjJ3JRGHm+BvQzG49kPXY9+Bit4qzj07GUncHLagFLrI
QzdiHbmjF31zFxLv89BbkGWXbyguRip8TTc3n4zAJ7f49ynIrBPLR18AYLNgl1PocoIbnd9+xPYbuR+5qbykoIeQ4+5oFHdECC4XYnuL+LFZb++FXjcW
j3+i+KC16BPIc9eSXw+V2bgPADZN3eJmLYqbT8TinZvkRV/8ZgrK9ZBYohYUae/cd34j6TYkknU5cQS0wTvkS/VswlIdo793YTqgWt1yHxPnaVF28d8z
kGN62kWbUAxe/Yvtf/Sx0ViJDT9Z+ZXQA6XiHUG0MKnj6GODh/b/CKYpnUNPj8Qu3/jTJJPJ/ZWQ2Rju+2lx8ybnZm52xM54/L2PyTNuQTlguFarHatu
R564mNzhl2Em+LKg1yN9/6ShJdP9iQI5ZoG4R6DFuIk2eeodTovgwb9PJfU5Yv5MVhrfTkG+LpL0hDbixVhtdAzZfi9E6WBLOhKlkweWjLYV6nuY0zSp
75EnGA4fY/EPFMjSc4aLlsV/EzrkPDWZHG0oBpOJXbq4A93c5cQh6aHrFIbi/wQAAP//JGrgXg==
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
