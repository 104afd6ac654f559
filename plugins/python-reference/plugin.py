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
eNrcfVtsJNl12FS/+3Q32bzLmenhvDg1O6sRd3dmh7OP0e5GUpNsDnuHZFO3m7valaJKsfuSrGV1VW89ZoZKkASQgAjKTxAFEpCfJIiwQCQEiIAYNmD5
T7A/bAP+MiADlm19+Mf6sQHZ8I9h3Fd1VXdV8zW7K/iLfc8991Hnntc999xL+GEKrrjEeUycw7sD098zrLuP793t6qZ5Z+DYno1mRO0dXnvn8T31txTI
LOumieagsOO7hkVct6bMK7fTOCjTuoGpe7u206+l5pXbRRyU0SxkXc92SC3NKniBtnCJ5xnWnlvLzCu3yzgoo8/BtNEj/YHtEat7qB2Qw1qWtZ0KgR+R
Q9pJ13ccWqzl+LCyvHTvg7t7hrfv79zp2v274rte3vd37kYp4N5ln/7WYGcnx37dhz+4HEemgalbiWSam0hX9fsKFFZI13AN20IvQ4b2xYhYWrx4Z6yz
O1umbq2dwwwNzULGPTAGnK4USkvoTSiYZNfTbN+rpefTt0uL1+M68ndMw91vOI7t4Dxt0PK9pSLkbd/r2n2i/nYGMnQ0Skpi9Qa2YXlsYkUclNEFyPWJ
t2/3xNqKEkKQGejevlhY9hs9gOxHPnEOaxk2KTXh6+58hSI1LM85xLwB+iLk94neI45by7K2zye1XeNovLVsRGezY/c4I5Qx+41WYcolXYd4muw6n0ir
NkPkfeOKGyq56AHkXb/bpaxfYKt2La4DjoF9k2CJjuah1HVIj1ieoZturTifvl3EYRB6mcoHGbg1YFOL44e2RwaYY6EqpH3HrJUYzenPuQcAQ2rSeiow
fA3pTyqAj3XTJ2L1eOHN1ANl7k0oh2l5krbqz3KQofOidLf0PhGt2O8IN6USuSkdy02ZEDeJj80GHzvkr1wif9FZTeavfCJ/sbaT+asQ4q/LUKQyqrGK
4rxyu8AUn7VEKxFkdg3TZOtaxOw3egUyTEmW2AyuxMxg1Xb6qwYxe5hhUvYY6I7n1sqJ7LGlOx7mWHTQvW8ag1qFTYb9jpGCqVNJwQgvT4/zckhOqieT
kxch4+kHpDaT+JUd/YBghoTuUJrsEbeG2CC1WJrsERdzNHQTKg7xXaK5pGtbPbf23Lxyu4LLDNjmsM9IjP6LAhn6ZbFidAPKH7q2pTHBIY5oXaKwLQ5C
VwH6+lPNJNae0MQVXOzrT9cZgAqiPfAM29JNJlgFHJSpIPL1ZfJVwKKkvgbFgAljpxX7NeoPFchQTkxSCLuGSRhcKARZpl/ZtS2PWJ7mHQ6kn1ASsM7h
gBHHI089qRvob1SDvEBh8y9jWYxKZS4qlaoFWcYb6BZMdX3HtZ2AvHzCFQ6VBKaz42hc74g14DDGMHQ8ugacJfkSFPr6UzaM+gGUwzJFqc6lUAwnSqHV
EEaWlyjlPNKn3pSkTFBW/5sCpZA0MafK0z3fJdRFS9/O4qB8HF66DqyokY98Kt98NKCgBoNQku0alm5qwSgZNkqFQdsCqP4gBQVM3IFtuYR9F6tg35vF
ooSWhuo4xWT+dowUy16OUMnpkEpGkKGGUrIK/Y1egzzRHdMgjnAtLk8YC0tcyud8TamtKQtlclZprzYprQcO8TD5yCeuR1UfdRUn+IPU/8YMCb0BBUdM
lHV/xLcEyHQd9C6VfGl2eUn9lQJTwk1scacQvUY9EspvdEZTsWZCoNIlJ5hjU4HsE9fV9+SHyyJ6A3KEuqDucV1VgY6uQNEhu4R69ESs6BCAFuE8eTow
HOJq+q5HnEC9Z5kMPicq67ROaHn1xwqUw0NRulDr5ckVFCV0HnIO2dUM6fRmHbLbZPqwa/ekKLLf4Q/PRD/8i3SX85g4tPssI2acw7JqWD3D2msLTBy0
WfieAuUwqdFVuNTa7iy3Nhpau1PvNLTtzfZWY7m52mysVM+hC4Ci1SutzUZVQTWYjcJX6831xko1hS7B+WjNVmNzpbn5sJpGF+G5aBVudPD71cxCH6ZH
pozm4cpqkzXU2o13G7jZeX9kanNwYQyjgXELVxV0BWpjde/V8SadR+osO7k/ysD18Y2Z2PycaDM33P2pv5uCaUwGtuORnhSZCKMq44yaOTAszklTsT6R
6OeRYfUww0XzUGY7ZU1wodDGDIYZKy7AjNxkaxzV6AkGnJYVbQpv9oYinT2tSOeSRDp/IpFe+A9QCn0sXXrJZI+amysjTHMeZiK1G43N7aoSlgIGbnda
uKHVlzvN1mY1NdZns9PYkLXps7DT396FqzHs5PSIc8rIwNxR7HkEL/47qHYc3XKpO3Aqe/IW5B3eTpiTGzH4TWvH9q2eGADLFuqfp2AqWkf1I2N14fwx
Vl6SezZu6F86coSY3dva0F3gNuTO0b1MdhoyIafhOpQc0iXGY9LTdO5PpjFIUN37jDYH/yMLJbm8hm2h+5BlzCaWNs7yb5InLYqydg5zXDQHeWPPsh3S
C0JIEoAaUO7qVpeYfACmZOJleTmEtnYOR5qhL0GBMtOO3j1gZI3nojpzOJYF4to5HDRCr0B2l3jdfaZl4jd0q7SefhVDpLt5ISe1PGujxrpBES1Nv1w0
QstD9UpxJoV1uMalWGvncMkdFmknfWL5mpSgYmInG8TyBVvSTvrDInqb7mN8hzqnJdZ+Po78HCOYhmzC5dckuktq5cTFYxyBORptLFpQq+CQgcl9k/im
gUgNzEPMsZeK1CrolmHtqX9BdyAhioxaLeV4VisVb7XuS6uVZlbratLqRGzWBeq46a5tCVsoSlTMfMszTCHdvEAl3+6yoDGT/ByXfAmqe+rXoBRavGf7
geq/gSzja6qzjxETFhHh8AhMxmNGYEve7Kk/VeBiYCHYWKT3qRuKyK4lfYJdi1qFqajaUH+pQDnMlCMbzEqwwVwd3WC+dAR7n2CTqUJFEl7r686BYLWS
zam+oTsHZ1L8GMphhRu/4krsiof4PxXmf/X3FKhE1MhJexVUluEJTmUZ7ElH40ODfduSuyFeoHsh0+5yO5NNVNlihusCEwdt1K/B9EglmoMCJZDn96TT
HZSpR27a1h6v5HMeAtAUpHSPTTqNU7qnvgnlsJI8CWnUX+ahIM3uiWg6qktSx9Ml6XhleRWAD8iCaGKzzCAshHYTKj1iGpTcHIMH1csSyJBUqBiutuOb
B3zyInpWMtwl3zzgX/gGFLq+69l94gjTGyfLywIFB8hoEbKGR/purZAY/OaU8Ugfc1T0APLdfd3ZI/zoJN64slb1vu1bHpbo6FXIevpTIo9VjmrHkdHb
UOwZbpeCXBGkP6rlsAF6FfID/bBPLE9E6+diI9MMA0tUKlpd2x/YFgvaF7EoIRXKhuV6js8UoFub4gsWhqEXYSZY1Z7uEc/ok9o0Y+uqrFgRcHQLpjiH
uP6OZ3u6yYL0Rcx1WVsAKaewH5qk/AwfmAGXBXmvQ4kjcSIjzroM1GGUnIOCJAwLtxdxUGZGl7Mqm8Usb8x5lU3hFkwN9EN9xySazqhcO89nKqCc9JTl
e4Y7MPVDKhcXOMsLSLNHhxk4ZKA7RNu1ndpFbtsFaNV20FXId33PpFuTGmV05lhxwHcUZQmgoImi+h8VKEieTgqKc6WXCiu9WciSvm6Y8vCbFSif6L2e
Q1xXuMtxfFLnGFiiqn+qQF4A0XnImYZFtHtiDllauheAF+UsaGmR60mrxyxVWupJXmYBLcM7lPFS+hvdgLLr72hU9ZoydFXEJdffWRcgas0GhiWiAvRn
RBnnJynjwogyVv9KgWIg+aHAmxIOvM1B4SNf55G6FE8/kGVGe8foBikGrEChnuGZgRlihTGpysZI1QPI81MSVxwzJuqAFkPDEh1dhDxbAKMnaMDWo9lT
/68CpVCLT/orQ/PIhueBLkOOcr/FXd3s2jksypThi5DXeEnVxXSFpAWjKOFRYh0YylHO8LSC/Q7Cpplh2FR9H/JbQxXIKSiDsLzEgtZc/oXXwUvoGpRc
57Gjec7ToUUsUlDHedrsqb+Tgiy3VpegEDHDaZwXTtpJ3OhnHI2LmurskaY6dxxTnR831aewuOqfpQDVuweW/cQkvb3TBZXuyDhFKnE7z72tIERR0Ltd
MvAIp2wBB+XE7dxlKFJNrjGLx7d0BQroUEvH4jkUTWNcx+kHHLRs9whdge6+bu3xXV+eNS8KSN1Dd2DW9j3N3qVL2T0Qq87pWMRV2/dau21aw9beRS/A
tGE91k2jF6DyTI+KAHM89RcpQOzL+VnZp0LcoeeejnjuyacWUeJkR4lzA8qM8n3D8j12OkYRmKnd4KBR+ufH6P9JEfjvFZim3Oy2Wu1PhbrzUKZyE8wq
zWYFFCam/jxMcW0W4GQYTplDBdZVAN007Sca6RnyQL7III2e4XGC8mBWKEwhQXVP/VHowz+xc7xX4YL05rW+7h6Qnmb5/R3iCNaalbUbrHKT1UlXIRO4
Cgs2wDBugy7DRR7AjzvRmoVquLK11disKugCoDB0eb3VZqdZI/Ct+jaFnynm/508XBsPwfPD09MG/ScfIhwR8v9PKajwmMinpT7izo15SkZ/MEzJ6A/Q
C1B+QnTHsPYYe3A2XjuHSwJK2eI7ijL0lXNhX/kawEB39D7xeI6WcruMQ5Claaho4e7VbytQC07TZYDo0z8F+XGwIJ+Y4LFcFSF4nHJpmavCoVuMgsO1
ykTWKtbTycZ7OjHJt7nY5NsgeJw/UfD4DKL4f7LwfIwoPtYNU98x6LbktPm5f6kAYhrpDIL1bKM5CDL2gFgiaYv9PsouXwHwfMfSbGtoIgoU0rLqnvqT
FMxQA/Eb84VXoCiWTmxeqMGTgDG7mj2GXc3F29VJjl6UZoUozc7Cq3+ThcvjLPfhEy850/6/p6H8jmtb75Gdjn1ArFBKmBJJCWtA+YAcasTq2j3D2hNp
BXHR1HB3j8ghLh2Qw4Zoht6GXNfUjb48UX3+iA6WKTIWbVAroq15tvfdI3q4sxW04EH2UBfo81A1jV0WqRpJ5JmWcJHEE8qhy0Vy6MK5cvlortzcv4Lp
kdFPFJG3YWaMFsdPjgwtZTqylDXIi2sP0gkXxYUBTI+sHlLh2jvt1qb2XmNJ67QeNTa1R42YNJsYHFx/j6dNxNQt1duN1189W57N916Cm+Pc3iNu1zEG
kz2lSVKizsD0CutkR25E1e9mobQy7BhNQSoIoqSMHqXoY+K4RnD+IYvskgrttWubMktTlumeRkYS2YqK8xwB26QLq0K5qw+4oTGI1EgRGFoCeGx39R3f
1CemqL8bID10bH+AQ63QA8jrIjaVTww+CX9jd5c4WKJT0y3v0Ghud5/0dZGsPiXBbQZFX4CiTMeXcfW4GH5D4OAhNrpPGZayrgysX0pMIscSE70KeYO7
AiKmPjfBWZCo6B7kTKNvsNR3JWGkdYaABSL6UjRDvcIGizs2Xg6wxi5jDGzTlBnysQextmlijqX+bwUytByrCeahFJIAmXAbArEwN3EMuxcoPM6XFQ6V
6u4yFAfE4QZVZnEPiMMMKeVc2zIPtQFhGXli61iisC0OUr+nwPQIx1E1tUd/yIAeK6CLkLctjRpZNt0CztkWC8pehqJtaSJGJ0I0tiVima9C5oAcSiMw
P5HfqRVi2Oq3FKhE4LFEfAUyjm8SYePiIljvUgXLLhMwTKoA2L6ZxZKoiMoi7d+3jCCLnP5WP1agFBKmJJXOg5+pcPDzOpR2DrUg74UTBXYO5UYEvQgz
Q/MmBZJnHVWHFUIkr0PJJVbP1chjmdFewMBADQpRf6FAQQrkKdltFrL7tuvJIAUvsFsdxPGMXaNL7abQfCEQ1SuhYvg+XghMF/AtAIdiMGkUuTxxS4Z1
jzDJxUVH/lR7UAzgVFeL7ZU81g/KMVKTipOaWcju+I7rCZniBfVrkOPa6ZQ0jMhiOiqL6j8qAEPNcsoR7kPO1n1vf1FkSsSpvVadIqydwwIVLUPRNfYs
3fOFiigt3ozNsGA0bEvUtXN42A7dh/SHT7wJyUBhh2TtHKbYSzme8Kd+PwM5Pi10n+oWXVwkjE/bYV08pEiY4068MhZ30fAyFD3aieY7pmDaAgNsOyat
7JoGsbzhRrfAAc0eugkVUSlcMhFe50DBHS2YopSlKylyFvLsYz4XZ0xYw3oEHY80Z9dgu/ZAHn/xAr+ZtOsQd19jk2cpZEVcFkC+D2hGXG1udj+fyBUT
neyh51xK9JzLz9Zz/nUKqqN8l7i1WYaibu7ZjuHt94XOvxXnYMiO6hIZD9uhL1NWEnsjnjn2/KQ+5IYIB60i5MhEyREiYTZCwoACubDj/3mo0p2L6+n9
gbh+J7Ym0wFc3AzaCKPSnbLYkcZv7ToSdZVhhrrjAPUPc5AXPlVsVu5bkB/4zsB2pXGdEPPa4ohYtkAPIMcMmkzNm09uywwcwQI/RL5Mwv2nbIQjLkBu
4JBd46nc6/ES+mJokfOJVBJziFniuIUpxC/MizDj2SZxdKs73JoWmVWpBhXS7IQPHIFvQOSB46zMg+ayJzKbqeU39izS09gVt7IIqjBQhzz1qPkdzpR3
wBNFpgIwv4e2GcNAU4w0N5NJE/DRGAdR19Ky6TcL8kxzY8VggjQvwHSQCCewwjklzZ7Aew2yXL/NHBUsZCoPc2zmeQT2VBvojicyTaaGYHbn8BYMicHx
eM5JJYAyNMq2+7pDeiznJN5XbTMEuRsR+CqGSqSCrnMQ4VK4n+mKyNYLMC2rJFG4VqwIDE4U9WfDVEau6Cddwpc2MBWygRcgZ7iuH5y/iBKlBv+lRYML
FQ5tcyA7dvV7BruzIoykLFPxkL+DTrgATku46EZdghzfhrGLkKRvO4daf0e6bRywsUMrDUvbNY29fU94bAXDWmXlBQ+KgR+P5uDCu/X17YaGt9dHz4Mu
w8VQ3XtrrfWGtrm9sdTAVQWdh5lQZWuzobVWqyl0EZ4Lgeub72udxlc71fSCCTB0RGjXPCryENc3OyPjqnAtXLm83mzQP7ix0tjsNOvrbR5fCePgxipu
tNd4qKWaWvj3MBvnKaBbcEN0V9/urNHuluudZmtzZAbX4XI82lK93VyuKugazCUgtFber6YWPlYAjRtOdBOut5sPN+udbdzQ6usPW7jZWdsYGfwGXI1D
WtuoL2vttfq9qpLUj0RZfO31auoopNfuLVbTCw7MjBlnugDDlo3N5Ra7LjYW/IrBWWt8lS9OTJ0Mfi38VwWmR0wqmocrneZGo92pb2xpqy28UR/liitQ
G8NoN5ZbmyuUH27A1bHajeb6elOipGI7wKvL9+/f/0I1vfAtJbhfIyww5YLm5lJre3NF29rGW632qIBcgvOjCC28wsRjDi6MVgV3pmKabTS/2lipphd+
rUAlYsspp0nk9vJaY2PCHER94yvbXEbGq5YaddzA1VRMr2HeSaMazI42ZZyfoVRMaHmvmp3QL2W3HLoAaKT+nfc61fzCD9hl3aiRpGsqkYcLF/36q3Bp
HGXIFSpcG68eYYvYLoZ88SFMjzg2lFdliwThCJFvRDQuw8WxmmcRFf6nTNzR+T7RTW//tCd1X4Lqsm3tGnu+c6rcJPURzIQ6EJejX2eh4R2T9PnF+YTM
XY6CA1z1DcgLYGCflZB9TjzQVWcBLe+T7sEaI4aMbfuQ4wD0avQEOS4EzDGPeYAcMb7pqPFVp6C84uiGPBRUp6Eiypw8C/8WSqHRqLitNerrnbXYjI0a
zEZq2w38bnPzIZf9SM1K4yGur8hryNEqXG+y679nyt34h5txDzn1ieWfNnNjcmrG/08DsCSc5X3fOjjZ4erLMlcvlRh5DifGvwI55kzKw7ta4s01gYfe
AujqHqFmn8hYbWzmPkc6xCF0tAwVcdjKAsXyiabYvFiGx881xFksK7Czg2ha7aXE5sOM2pdkHj8/DLkQ+zLMU5m/f394X6CQOATPYQ+uCqgPoSLus4uF
ex0KuwIwQR2INjjAVT9WIC+gSQm+KBTPLg4j1lJs08nvB2RO/n5A6HGDbPhxA/UnaShuEMs/BZ/ekc+5JecPcb4TD71F2S59MrYLhCJzLKH4F82lX4cK
JlaPOKTHl+0NKPTEm3ITLgTLZ+dwgBzcaEsNb7SpP89Alh8oJTDuSe5txl0Ki7tnUBveg+D8KYssRmtbnt71tHCmWFkAebrTqW8cyESpx0Q82iVKdNfL
4haGtacRS98xCQ/iFPC0hDc4OPL2YCn69iB6Aab7hiVSrXhQkId1Kn3DYolWbLMr8QZG98AXmcwVloJC8bYYlKUzL8AMxRsmhVPMKYZJO1iReeEU9z7k
PaPPVNd0Im91GAaWmOjLUPaG98zdWjUxX5xdANnU+wRHWrCIqdEn36RrNSMipqKsNiHHB0RVSPf0IG7c0w/Z63em7U0ye23T9jDHUr8MGVpEVwFcT3c8
Tgrx4AaDMCJcYoEUXik8IcK9ePVfQzH4BnExZs+nqje4QMjLAROnkk9v0mOnN+qPUlCQqmyCDTh5z+yTbccT2f4ZnslEITzX/yLkjf6eNnwuL2f097Yd
E6lQ4Xc6ZNoWF6USB/K8rdH1z594/UNsVzgu26nfzkJm0p2f+IPXo0kV3JTJhG/K3IByX3eopPFKcauJw7YYygXIPSHMRxbBZl7iwWnnMXFFBpkoUbd6
17Z7/JZGQbxrZts9dkMjumDF0QWbZ29O2P0+VepSzYRBTAkyleLxLHmmZ9K4LIAsPx69CDO7vrlrmGafIvbtHuFvBRZxNVSxQeFhJqlEmARBxtP3eNpD
EbPfY0wxfWKmeAeqB+SQa0BpkquJSQKPyCFTi9woTx2Eiy66DVXhGBwGCX8zbLZTEi5S/u7CbNgLCLARw54JGXtxaWAfKpGxE5Ij6jA1/Jqe7ulCZ12e
8C24LD9jRfd0dREKsua4Z2jqX6egFPJWnrWs3IIpaltcYpKuF+RichPUDoAMTX8aRssKNP1pCG0Rzvd90zNEqogbWFF+kfg5Vsm/xpWWNCon+VE5uQVT
wSVPyzQsLmgFXJEXPRlwjFuLJ+VW9edpyE2+nfds9dFQ2XBSSmUTUSq5iUolf4RSKYwrlZAKKEZUwCgB4ZmIe+mU4n4Lpu2Bp+05Q/ktB+m9D53B8F6Q
RVyP9DSBzZO+irjCwS2G7Kp7kO7oT4NriEro9bb4RQ1kMR0+zR3NSs6MZiWrP1Ugxz33Mw92Eyr6YGAaXXYPOkjqLw+BLSte/WcT1P/o9HNj0/+uApVt
yzRc77PPED9L5OdX+dgnvO0JL51/sg91/ecUlFjm4GnIiiBDpx6c/dkme72Vv0Eqz/54aWwJMsdbgmz8Tu4yFOlo4VtnBQ6oe+gB5GXWYXKmqkhC7Oju
AZbo6v9UoBSq+Eyez7sKELwe6Ul/Wj4Z6anfUmA2uFwUXrlFsRhK4mNPIWyxWKd9tVN9DMB7c33TQ29DQUSGZFxqPmF40tvgiDhoEeKYVIRjEGT6w2w2
9lt1oBLpJogZKKFXcEYf7k2NP9wbe/MoHXvz6Ey3LTJxD/M5xhke5pt8R0/9tQIIG78ZN3mvArBPDaeuFxmEbXJfAsSrWSRF3tjkAl9lNSycIm5rRi/M
5EYuzKi/r8As++7ghZ5P6YJ4EOlJT4r0ZEYjPRch7xJiDS9M5WjxbHd7Pp6NO9cSU09ktyNukc4d62rb3HGuWcwdceo2N/FQ5Ey3U+cmWt25yUK6+Mcp
yG2xGrQJBXnzA6mxYc3ItZC5a4k43AV/F4rBsR+6GfvwVPRUce75yUji5LAFpdBBHroVG8gdPeibu5R4nofegSw7fENxOVLhY7q5+WQEPrnFP0lBZoNY
PvoKAJsFO5xCVxPC6Pz0I7bfyPnIbeUVBa1Djoej0ZWE9w6Te4vEsVlvH4TexRbPxqL4pLXo49lzN5LfnZW3cR8BbJm6xd1aFDefiMc7NymKvvjdFJTr
IbFELSjS3nns/FbSaUjk1uXEEdAm75Av1fMJS3WC/t6H6YBqdct9QpxnRdnFv8tAjulpF21BMXhmMLb/0WdqYyU2/NjpN0JP24qHC9HCpI6jrxse2f82
TFM6h946iV2+8bdQJpP7GyG3Mdz3s+LmLc7N3O2InfH4AyOTZ9yCcsBwrVY7Vt2OvKkxucOvw0zwZUGvx/r+SUNLpvt/CuSYB+IegxbjLtrkqXc4LYIX
Bj+X1OeI+zNZaXw/Bfm6uKQntBEvxmqjE8j2ByFKBybpWJROHlgy2k6o7+Gdpkl9jzzBcPQYi/9LgSzdZ7hoWfwfqiP2U5PJ0YZiMJnYpYvb0M1dTRyS
brrO4Cj+cwAAAP//bXONMA==
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
