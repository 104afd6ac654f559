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
eNrcfVtsJFmWUEW+82Smnb7tqsqy6+GK7uqpcc9Udbm6p2umm5lJ2+lydtlOz81093TPskE449qOdmREdjyqygMCpF2J1fKDWDSLQMCuWEarhZVYCQkk
FvhZwQ/8IkCwwH7wAXwhDdIigdB9RUZkRqRf1d2j/XLec899xLnnnHvuPedcw7/KwU2PuM+Je/JwaAWHpv3w+aOHfd2yHgxdx3fQnKh9wGsfPH+k/m4G
cmu6ZaEFKO0HnmkTz2soS8r9LA7LtG5o6f6B4w4amSXlfhmHZTQPec93XNLIsgpeoC084vumfeg1ckvK/SoOy+hrMGsaZDB0fGL3T7RjctLIs7YzEfAz
ckI76QeuS4uNAh9WltH7UHiuWwHxGsWl7P3KyusPJr7tAf2uBx8xrJbtuydYNFn4NlQiYFSHLJ2EwoagP+lHMVTxtbzwncwTRf1tBcrPyNBn7RGCnK0P
iGjKfie3RUtQZZTRXHKgmYagFjAYJgdtAy3DnCSqxlFNg9GujGdlRZfC2wZ6HWoh7gvTIIyAJVyVwI9Ng6w++vThoekfBfsP+s7goSDPN4+C/YdxJvEe
Mu54f7i/X2C/HsMfLyZx0tDS7VROWpjKeupPFCitk77pmY6Nvgk52hcjW2XlesLS7Vq6vXkFMzQ0Dznv2BxyglIoLaHvQMkiB77mBH4jy3jgTlJHwb5l
ekct13VcXKQNOoG/WoaiE/h9Z0DUf5yDHB2NchuxjaFj2r5Yz7CMrkFhQPwjxxCLKkp0/Ye6fyRWk/1GTyD/eUDck0aOTUpN+boHP6BInC95A/RdKB4R
3SCu18iztm+ktd3kaLy1bERns+8YXFaqmP1GGzDjkb5LfE12XUylVZch8r5xzYuUPPQEil7Q71PtUGKrdjupA46BA4tgiY6WoNJ3iUFs39Qtr1Feyt4v
4ygIfZOqEDL0GsCmlsQPXZ8MMcei4hq4VqPCxTVwrYUnACNqnkecF74D1Sgtz6UK/qAAOTqvRC0Q5aZMKjdlE7kpF+Em8bH58GNH/FVI5S86q+n8VUzl
L9Z2On+VIvy1CGUqoxqrKDMtRPcGe5VWIsgdmJbF1rWM2W/0NuTYPlJhM7iZMIMNxx1smMQyMMOk7DHUXd9rVFPZY1d3fcyx6KCHPzaHjRqbDPudIAUz
F5KCMV6eneTliJzUzycnb0HO149JYy71K3v6McEMCT2gNDkkXgOxQRqJNDkkHuZodMNwSeARzSN9xza8xmtLyv0arjJgl8O+IjH6Kwrk6JclitFdqH7m
ObbGBIe4onWFwnY5CN0CGOgvNYvYh0IT13B5oL/cYgAqiM7QNx1bt5hglXBYpoLI11fsn6KkvgvlkAnPvserv6VAjnJimkI4MC3C4EIhyDL9yr5j+8T2
Nf9kKE2pioD1ToaMOD556UvdQH+jBhQFCpt/FctiXCoLcalUbcgz3kD3YKYfuJ7jhuTlE65xqCQwnR1H43pHrAGHMYah49E14CzJl6A00F+yYdRPoRqV
KUp1LoViOFGKrIbYZHmJUs4nA2raSMqEZfWvKVCJSBOzO33dDzxCrdjs/TwOy2fhpTvAihr5PKDyLYw0CmoxCCXZgWnrlhaOkmOj1Bi0K4Dqr2eghIk3
dGyPsO9iFex781iU0OpIHWeYzN9PkGLZyykqORtRyQhydKOUrEJ/o3ehSHTXMokrTIvFKWNhiUv5nK8p3WuqQplcVtrrbUrroUt8TD4PiOdT1UdNxSn2
IDXlMUNC70HJFRNl3Z/yLSEyXQe9TyVfbru8pP7tDMwIM7HDjUL0LrVIKL/RGc0kbhMClS45wRybCuSAeJ5+KD9cFtF7UCDUBPXOaqoKdHQTyi45IPTQ
Q8SKjgBoBa6Sl0PTJZ6mH/jEDdV7nsnga6KySeuElqcb8DEhw8Z86gYcnm8ww1T/vgLV6OQoJel+58s1FyV0FQrieCPW3WUnGwS5vmNI4WW/o6TKxUn1
XXp0fE5c2n2ekT/JxNkwbcO0D7sCE4dtln9NgWp0cdAtuNHZ6611tltat9fstbS9ne5ua6290W6t16+ga4Di1eudnVZdQQ2Yj8M3mu2t1no9g27A1XjN
bmtnvb3ztJ5F1+G1eBVu9fAn9dzyAGbHpoyW4OZGmzXUuq2PWrjd+2RsagtwbQKjhXEH1xV0ExoTdR838Q6dR+YyZ79/nYM7k0c5cVw61/FvdF5U/2kG
ZjEZOq5PDClkMdZWJlk7d2zanJNmEq0o0c8z0zYww33Fh+xQCeQvqgQKaUqgeC4lsPwXoBL5WLr0ksmetXfWx5jmKszFardbO3t1JSoFDNztdXBLa671
2p2demaiz3avtS1rs5dhp3++ArcS2Mk1iHvBu4SF09jzFF78c1DvubrtUQPiQjvQ+1B0eTuxAd1NwG/b+05gG2IALFuo/ykDM/E6qh8ZqwtzkbHyqjzl
cdPgG6eOkHDe2xwZGHzXeXB6L9PNjFzEzLgDFZf0ifmcGJrOLdAsBglq+l/RceInBajI5TUdGz2GPGM2sbRJtsIOedGhKJtXMMdFC1A0D23HJUZ46SQB
qAXVvm73icUHYEomWZbXImibV3CsGfoelCgz7ev9Y0bWZC5qMhNlTSBuXsFhI/Q25A+I3z9iWib5CLhB6+lXMUR6/hdy0iiyNmqi4RTT0vTLRSO0NlKv
FGfaRRDXuBRr8wqueKMi7WRA7ECTElRO7WSb2IFgS9rJYFSknbCF0oKhQTU0pHbCFnaPYdFOnFERfUCPT4FLbeIKa7+UtIYcI/wW2YQrAYvoHmlUUzmA
jY45Gm0sWtCtxSVDixs4yU1DuRxaJ5hjn990Wy3TzUi3TftQ/c/0qBRZiPHNUjnbZplJ3iwfy80yyzbLW2lMEdsqr1F7UfccW2zBokSlO7B90xJKhReo
wnH6zAHAFE6BKxwJavrqj6AS4ZlX+4Hqn4E8Eye6VZzh8lpcXUdH4Bw7OQJjkrah/r4C18ONiY1FjC99f4odr7LnOF6pdZiJayv1jxSoRtl47CRcC0/C
G+Mn4W+cIhDnOA2rUJOE1wa6eyxYjWuCtrGtu8eX2m8wVKN6PnnFlcQVj/B/Jsr/6j9ToBZTPOftVVBZ3qNwKstbqWz8Imt45NjyEMYL9AhmOX2+veVT
dwoxwy2BicM26o9gdqwSLUCJEsgPDGnrh2V6ELAc+5BX8jmPAGgGMrrPJp3FGd1Xf1OBSkSrn4s0i1DuH+n2YUTQSxwQW41sTBs9khZE7lQLQtgP6neg
GlX955mj+kdFKMn+zvVx4/ouczZ9l01W6LcA+IDsRlLcPDAIu498HWoGsUxKB47BPRRVCWRIKtRMT9sPrGM+eXEVWTG91cA65l/4HpT6gec7A+IKqySJ
wGsCBYfIaAXypk8GXqOUuhtyyvhkgDkqegLF/pHuHhLuh5piMjQHTmD7WKKjdyDv6y+J9FGd1o4jow+gbJhen4I84fE4reWoAXoHikP9ZEBsX7g+FhKv
+RkGlqiUjftOMHRs5gEpY1FCKlRN2/PdgClprzHDFywKQ2/BXLiqVLh8c0Aas0z06rJiXcDRPZjhHOIF+77j6xbzeJQx17ddAaScwn5okvJzfGAGXBPk
vQMVjsSJjDjrMlCPUXIBSpIwzHdRxmGZGQacVdks5nljzqtsCvdgZqif6PsW0XRG5cZVPlMB5aSnLG+Y3tDST6hcXOMsLyBtgw4zdMlQd4l24LiN69z+
EKANx0W3oNgPfIue2hqU0Zm5yAG/oiirACVNFNW/qEBJ8nSah4Er5kxUMc9Dngx005LBFqxA+UQ3DJd4nlBRSXzS5BhYoqr/VoGiAKKrULBMm2iPxBzy
tPQoBK/IWdDSCtfltsF206zU5bzM7vpM/0RePtPf6C5UvWBfo9uDJW/1yrjiBftbAkR33KFpiwsT+jO2YRSnbRilsQ1D/a8KlEPJj9xJKtE7yQUofR7o
/BIzw8NdZJnR3jX7YUgLK1Cob/pWuFWywoRU5ROk6gkUucvJEz7bVB3QYWhYoqPrUGQLYBqCBmw92ob6u3IT5C2+6K+MzCMfnQdahALlfpub4/nNK1iU
KcOXoajxkqqL6QpJC0dRoqMkR84gyLkj1w/7Hd4o50Y3yuonUNwdqUBOQXk/zUvMA8DlX1hGvIRuQ8Vzn7ua774c7YhlCuq5L9uG+k8ykOe71Q0oxbbh
LC4KQ/I8pv4rvqiMb9X5U7fqwlm26uLkVn2BHVf9DxlAzf6x7bywiHF4sfu2B9IAy6TedEStL8r1er9Phj7hlC3hsJx65FyEMtXkGtvx+LGzRAE9utOx
qy6KpjGu4/QDDlpzDEJXgJuR7GRaZM2FpWk0ffQA5p3A15wDupT9Y7HqnI5lXHcCv3PQpTVs7T30Jsya9nPdMo0QlYfN1ASY46l/mAHEvpw7Hr8U4o5O
F9nY6SLdoRMnTn6cOHehyig/MO3AZ65GisC22m0OGqd/cYL+XxSB/7cCs5SbvU6n+6VQdwmqVG7CWWXZrIDCxNTfgBmuzUKcHMOpcqjAugWgW5bzQiOG
KaMbygzSMkyfE5Tf80WuUiSo6av/MfLhX5hT9B24Jq15baB7x8TQ7GCwT1zBWvOydptV7rA6aSrkRqbCua/Flh2A0W0UWoTr3BuS5B6ch3q0srPb2qkr
6BqgKHRtq9NlrsEx+G5zj8Iv5UD5v0W4PenP4L7ri3pQpntkTvGf/KUM1PhNz5elcJLc9jwiZjAcRcQMhuhNqL4gumvah4yhOONvXsEVAaWM9CuKMrKu
C1Hr+jbAUHf1AfF5iJxyv4ojkNVZqGnR7tVfVqARBjPIa68v36X0G1m5IF+YqLJQISGqnHJZGSrEobuMgqO1ysXWKtE2yifbRgnh4YXE8PDwEr14rkv0
5pjvoHQW30Hcc3D+e/hLyP/fK8IbCfL/XDctfd+kp6eLxmT/FwUQU4OXkOZXe+mEIOcMiS0C9djv08yHmwB+4NqaY492shKFdOymr/6xAnXW+Wrgnfx8
fOB+4J3ID6S/Jwyg/KQBFDpEClGHyHSrU/29DMzRPfznZnVvQlmwrThfUptEAiZMn/wZTJ9CsukzzRaP80spzi+XkdP/kYfFSXH77IWfnnzzN7JQ/dBz
7I/Jfs85JnYkBFKJhUC2oHpMTjRi9x3DtA9FUEzSpXy0u2fkBFeOyUlLNEMfQKFv6eZAxgO8cUoHaxQZizaoE9seeXbDw1N6eLAbtuC+mkgX6OtQt8wD
dpk4Frg2K+EyaG0UM1qIxYxGY0OL8djQhT8Fs2Ojn8ux48DcBC3OkfAzWspsbCkbUBSZUPKcJIrLQ5gdWz2kwu0Pu50d7ePWqtbrPGvtaM9aCUFiCTi4
+TEP+kmoW212W99653JRYv/gIbw+ye0G8fquOZxumk6TEnUOZtdZJ/vyrkD91TxU1kcdoxnIhPdcGdOgFH1OXM8M3WiyyPLWaK99x5JRybJMta687GUr
KtyCArZDF1aFal8f8k3WJFIjxWBoFeC509f3A0ufmpLxUYj01HWCIY60Qk+gqIvrw2Lq/aAw8A4OiIslOrWVZFqd5vWPyEAXyRkzEtxlUPRtKMv0E+n6
SHKztAQOHmGjx5RhKetK38eN1KQJLDHRO1A0ue0l3B4LU6wziYoeQcEyByZL9VBSRtpiCFggou/FMzJqbLCk6IO1EGsi+WjoWJbMCEn05zuWhTmW+ncV
yNFyoiZYgkpEAmSAeQTEPBHENR0jVHicL2scKtXdIpSHxOUbqsxaGBKXbaSUcx3bOtGGhMWTitN9hcJ2OUj9NQVmxziOqqlD+kPeubICug5Fx9boJsum
W8IFx2b35otQdmxNXKOKWzTHFtfN71AD+ERuAktT+Z3uQgxb/SUFajF4IhHfhpwbWETscUnGNTesA4tghkkVALvaYNd9VERlkfYf2GaYNUF/qz9VoBIR
pjSVzu+nM9H76TtQ2T/RwqgtThTYP5EnP/QWzI22NymQPGauPqoQInkHKh6xDU8jz2UGRwkDA7UoRP1DBUpSIC/IbvOQP3I8X94j8QLLYiKubx6Yfbpv
Cs0XAVG9EilGU3QjYLqA7wO4FINJo4hES1oyrPuESS4uu/Kn+tcVKIcVVFmLA60MDwnLCWKTSRKbecjvB67nC6HiBbQCea/vCCf2TOr0uhQHc1T1R1Dg
Ku2ChI8JcDYuwPRQAiN1dMERHkPB0QP/aEVE6STpyk6TImxewQIVrUHZMw9t3Q+EXklOnBY7b1eibl7Bo3boMWQ/e+FPCV2LWjGbVzDFXi3wGFf1v+eh
wKeFHlOFpIts2+SQMdbFU4qEOe7UvMqkbNxFKPu0Ey1wLcHpJQbYcy0WDmKZxPZH1xElDuA51qJS2HHCbcKBgjs6MEMpS1dSxMsU2cd8LWkHYg2bMXQ8
1pyl0zNmLYl0elrg6XsHLvGONDZ5FjVZxlUB5IeHdsw+53v111O5YqplPjK3K6nmdjVubtM50m9xXPPHhFGbhx9UQyClOIH5EVJktnzzXUmfbVO2Gp/2
a/pkzSVN/4UNaKSNd64jxM8yUB+XpdQz3hqUdevQcU3/aCA2v3tJlpbsqCmR8agd+j4VD3FI5JGYb0zrQ54McdgqtsS5sSUesUU+xhYhBQrRE9DXoU6P
cJ6vD4Yi71ac0WZDuEgJ3I6iHjjuQBzNk8+4PYm6wTAj3XGA+j8LUBTGZWJw/ftQHAbu0PGklTHltnWXI2LZAj2BAtvZZajrUnpbttMTLPAj5MulJD7m
YxxxDQpDlxyYL+Whl5fQdyOLXEylkphDwhInLUwpeWHegjnfsYir2/3RGb3Mdtd6WCG336hzHPhJTDrH52U6A9cnIkGBmkDmoU0MjeW2VsXtEgP1yEuf
2iGjmfIOuFaZCcE8AXUngYFmGGleTydNyEcTHERtbNuh3yzIM8s3YAYTpHkTZsPAUoEVjX9qGwLvXchznT132jU1U+OYYzMTLLQRqKr0RVTUzAjMko3v
wYgYHI/HR9VCKEOjtGb3c5yMVyM3eZyElK+PdJcYLIAq2arvMgR5bhP4KoZarIIyQngXqHCL3BN3gG/CrKySVONqsyYwONXUPxjFDvPdbdrzHHLjz0Q2
/mtQMD0vCJ2JokTJxX9p8WuYGod2OZDFEASGyXLThGUgy1R+5O+wEy6hsxIuulFXocAPrCxFmgwc90Qb7Ev7lgO292mlaWsHlnl45AvTtmTaG6y87EM5
PPGgBbj2UXNrr6Xhva1xV+UiXI/UfbzZ2WppO3vbqy1cV9BVmItUdnZaWmejnkHX4bUIuLnzidZr/bBXzy53uW3OrGI6Km72Wlp3rbOb4CCN1DHvZ10Z
g3bwegvXM8sWwMiko/Pll1JPcXOnN9atCrejlWtb7Rb9g1vrrZ1eu7nV5ddbURzc2sCt7ia/6apnlv88zCfZXOge3BXdNfd6m7S7tWav3dkZm8EdWExG
W21222t1Bd2GhRSEzvon9czyTxVAk9s1eh3udNtPd5q9PdzSmltPO7jd29weG/wu3EpC2txurmndzeajupLWj0RZefdb9cxpSO8+Wqlnl12YmzAJ6AKM
WrZ21jos13Ti7jEBZ7P1Q744CXXy7nH5ryowO7aRoyW42Wtvt7q95vauttHB281xrrgJjQmMbmuts7NO+eEu3Jqo3W5vbbUlSiaxA7yx9vjx42/Xs8t/
SwmT88S+T7mgvbPa2dtZ13b38G6nO87/N+DqOAJnd4WSZ7wqTLhMaLbd/mFrvZ5FDZifqGrt7NVzyz9ToBazLSgPStzu2mZre8rsRH3rB3tceiarVltN
TOU0odcoV8VmKJsymchR+qa0fFTPT+mXMmIBXQM0Vv/hx716cfnX2asB8U2brrZEHi1p/OtvwY1JlBG/qHB7snqMYRK7GHHMZzA7ZmhRLpYtUsQmQr4x
oVmE6xM1r+K6/v/lkoJIjohu+UcXdR9/D+prjn1gHgbuheL61GcwF+lAvNLwLXZnv2+RAX/BIyXqnaPgEFd9D4oCGJoDSsQcSA1tUOcBrR2R/vEmI4Z0
OgRQ4AD0TjyWIulunmOeMZQittdn43u9OgPVdVc3pbdWnYWaKHPyLP9ZqERGo+K22Wpu9TYTY5caMB+r7bbwR+2dp1z2YzXrrae4uS5fN4hX4WabvSpw
qSim//Nm0otyA2IHX0kM0z/KArD4trWjwD4+n1P8mzIMNpPqMYjmnLwNBWbaSqdrIzVfVuCh9wH6uk+ovUDkHXtiUgxHOsERdLQGNeEkZxf88im5xPgW
hsf9UcKHzgrM5xOPWL+R2nwUrP4NmSLDnVjXEl+weilTYx6PUnFKqUPw9JAwC0d9CjXxioZYuG9B6UAApmgL0QaHuOpPFSgKaFrsPIr4IcojT4OU6mz6
qyW5879aEnlSJR99UkX9vSyUt4kdXIBPH8iXOdMD7TjfiTc742yXPR/bhUKRO5NQ/Inm0t9RoNqlWF9+9u7bkKM6VfgEbqZk1TNmwgxT/QWoYWIbxCUG
57H3oGSIhzqnvJkg3/LEIXKYfZsZZd+qv5WHPPdapkjZeXLMkxJYk/KNGqN8KC5Mssju9B3b1/u+Fo3/rAogD2K8cOaRDH98TsRLiKKEvg51tjWZ9qFG
bH3fIvyCrIRnJbzFwbE3bytjb96+CbMD0xYBlPzClV+Z1QamzYIV+au0Am9o9o8DkdFQY3FOFG+XQVlawzLMUbxRcgjFnGGYtIN1mR9CcR9D0TcHTM/O
pgpCj2FgiYm+D1V/9BSH16inxkuyRLAdfUBwrAW7jTYH5Md0rebEbbQoozbMekPSN3VLk1NDqf7oLscUM5zxokVP/QxqMQTKVoa0+cqY/WbPlFqOP23f
71qOjzlWWjqx2oaCGKQOWUMPXQmGfnLOIdTvQ44W0S0Az9ddn6+geEqJQdja3WBXZ7xSGKOEH6TUPw3lkPQir+8woNtbmKPNy6HsZdKdlNkJJ6X6Oxko
ye1iyj57/p7ZJzuur40ys7O4TCE8Vek6FM3BoTZ6OrVgDg73XAupUOMpaTKkkWuACgfymMZxti2em20j0lI6q7Sov5yH3LSUxeSghNNJFSb65aKJfneh
OtBdqiB4pUjK5LBdhnINCi8IO6YI/wMvcX+F+5x4IrpSlOjJ5sBxDJ5kVhJvXDqOwRLM4gtWHl+wJfaakDMY0L1IascoiOlupgl9nuTD1GMWVwWQpfeg
t2DuILAOTMsaUMSBYxD+bmwZ1yMV2xQeZZJajEkQ5Hz9kHsly5j9nmCK2XMzxYdQPyYnXHFLs6eeqrCekROmzbnhM3McLXroPtSF8XUSBsPOsdnOSLgI
h30I81FLK8RGDHsuYlCJnKcjqMXGTgkcasLM6GsM3deFzlqc8i24Kj9jXfd1dQVKsuasblX1v2WgErEIX7Ws3IMZuiV6xCJ9P4xT5jtnNwQyNP1lFC0v
0PSXEbQVuDoILN8UYVReuPnzdxBeY5X8azxpAMTlpDguJ/dgJsxRty3T5oJWwjWZp86AE9xaPi+3qv8+C4XpycWvVh+NlA0npVQ2MaVSmKpUiqcoldKk
UomogHJMBYwTEF6JuFcuKO73YNYZ+tqhO5Lfahj6/tQdjtIabeL5xNAENg+ILOMaB3cYsqceQranvwyzqJXIu5zJixrKYnbsfxrEIvZz4xH76u8rUOCn
o0sP9jrU9OHQMvvsGYcww6g6AnbsZPWfT1H/49MvTEz/VxWo7dmW6flfffbEZS7f/k4p8d85OFP+McgX+wTjX85AhUXVXoSsCHJ06qG317HYS978PWpp
bPPSxBLkzrYE+eQD6CKU6WjRpNkSBzR99ASKMiI3PYpbBOj2dO8YS3T1NxSoRCq+kodRbwGELwn70p6Wzwf76i8pMB9mOkZXbkUshpKaRRfBFot10Rec
1d9WAHh3XmD56AMoies3efm3lDI+MbY5Ig5bRFgmE2MZBLnBKGqT/b7Am8ku1GIDh7cjSuRtsvF33zOT774nZk5mEzMnL5W8lEt6pdU1L/FK6/T7efVn
CiBs/ny8XXALgH1qNBOkzCDsXPwNQLya3RnJHHWuI+qshl0cifz0eP5ZYTwr718qMM++O3w37Ut6EiO808pOu9PKjd9pXYeiR4g9yr0s0OLlUuX+xdUk
b6SYeiq7nZIFv3CmLNmFs2QtLZziK12Y6sq6lGdqYepGvTBdSFf+TQYKu6wG7UBJJlIhNfECN5ZltXA7FYdb7R9BOXTWosT/tjXmC154YzqS8Pd2oBJx
v6J7iffr4+7ZhRupXlj0IeSZyxQlRdpFnasLS+kIfHIrfzMLuW1iB+gHAGwWzGeIbqV4N7hTKrHfmNvqvvK2gragwC/e0dRr+sTeYjf2rLdPI/9WQbwh
jpJDH+P/e2Hhbvoj5PI1gWcAu5Zuc0sYJc0nZiQvTPMXoDbkmW8EJf/vnZHXZOG0hP6Vf5eBajMi4agDZTpR7nC4l+bviuVDT5/sDu+Qr/obKat+jv62
oET7Ww28k8TVGU9Vn97bJzAbLmfT9l4Q91Ut+cr/ykGBbSAe2oVy+CptYv/jj6knqpLok9y/GHmAXbxzi5andRx/DPfU/vdgllI58uxUIjNMPks1ndy/
GDGBo32/KjHb5WLG7aHEGU++9TR9xh2ohuzb6XQT94Gx542md/gLMBd+Wdjrmb5/2tCS6f6hAgVmGnlnoMWk7Th96j1Oi/BB2q+l9Tlml03tdeUnGSg2
RTKuUJO8mKgmz6EpPo1QOtwrz0Tp9IElo+1H+h7lLk7re+xtm9PHWPlNBfL0AOShNfH/FU85G04nRxfK4WQSly7pcLpwK3VIen68hAX7/wMAAP//GZ0C
cA==
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


def plan_store_busy(request, _context):
    """Plans the notice of how busy a store is."""
    pace = {"busy": request.busy}
    if request.prep_minutes:
        pace["minutes"] = request.prep_minutes
    if request.until:
        pace["until"] = datetime.fromtimestamp(request.until // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    store = request.platform_store_id or request.store_ref_id
    return PB["Decision"](plan=PB["Plan"](
        endpoint="api", method="PUT", headers={"Content-Type": "application/json"},
        body=json.dumps(pace, separators=(",", ":")).encode(),
        path="/stores/" + urllib.parse.quote(store, safe="") + "/pace",
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
