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
eNrcfU1sHMl1sHr+580MOaylpBElSlRrZcvcXWlF7Y/s9Wd7SA7FWYkcuma4693Pn/trThfJXvZ0z3b3SKITJEHsJIZzSeLABnxKEGOB2AgQAwlyiI9G
ckmAnAL4kCDxIZf4FMAJckmC+uvpnuke/ml3jZw49erVT796f/XqVRG+l4IrHnEfE/fwTt8a7Jn2ncd373R1y7rddx3fQTOi9javvf34rvrnCmRWdMtC
c1DYGXimTTyvpiwot9I4KNO6vqX7u47bq6UWlFtFHJTRLGQ933FJLc0qeIG28Ijvm/aeV8ssKLfKOCijT8K0aZBe3/GJ3T3UDshhLcvaToXAD8kh7aQ7
cF1arOX4sLK8fPfdO3umvz/Yud11enfEd720P9i5E6WAd4d9+hv9nZ0c+3UP/vpyHJn6lm4nkmluIl3VbytQWCVd0zMdG70EGdoXI2Jp6eLtsc5ub1m6
vX4OMzQ0CxnvwOxzulIoLaHPQMEiu77mDPxaeiF9q7R0La6jwY5levsN13VcnKcNWgN/uQh5Z+B3nR5R/yIDGToaJSWxjb5j2j6bWBEHZXQBcj3i7zuG
WFtRQggyfd3fFwvLfqP7kH1/QNzDWoZNSk34uttfpEgN23cPMW+APgf5faIbxPVqWdb2+aS26xyNt5aN6Gx2HIMzQhmz32gNpjzSdYmvya7zibRqM0Te
N654oZKH7kPeG3S7lPULbNWuxnXAMfDAIliiowUodV1iENs3dcurFRfSt4o4DEIvUfkgfa8GbGpx/ND2SR9zLFSF9MC1aiVGc/pz7j7AkJq0ngoMX0P6
kwrgY90aELF6vPCZ1H1l7jNQDtPyJG3VH+cgQ+dF6W7rPSJasd8RbkolclM6lpsyIW4SH5sNPnbIX7lE/qKzmsxf+UT+Ym0n81chxF+XoUhlVGMVxQXl
VoEpPnuZViLI7JqWxda1iNlv9DJkmJIssRlciZnBmuP21kxiGZhhUvbo667v1cqJ7LGluz7mWHTQva+a/VqFTYb9jpGCqVNJwQgvT4/zckhOqieTkxcg
4+sHpDaT+JUd/YBghoRuU5rsEa+G2CC1WJrsEQ9zNHQDKi4ZeETzSNexDa/23IJyq4LLDNjmsI9JjH5HgQz9slgxug7l9zzH1pjgEFe0LlHYFgeheYCe
/lSziL0nNHEFF3v600cMQAXR6fumY+sWE6wCDspUEPn6MvkqYFFSX4ViwISx04r9GvV7CmQoJyYphF3TIgwuFIIs06/sOrZPbF/zD/vSTygJWOewz4jj
k6e+1A30N6pBXqCw+ZexLEalMheVStWGLOMNdBOmugPXc9yAvHzCFQ6VBKaz42hc74g14DDGMHQ8ugacJfkSFHr6UzaM+i6UwzJFqc6lUAwnSqHVEEaW
lyjlfNKj3pSkTFBWf1+BUkiamFPl6/7AI9RFS9/K4qB8HF66BqyokfcHVL75aEBBDQahJNs1bd3SglEybJQKg7YFUP1OCgqYeH3H9gj7LlbBvjeLRQkt
D9Vxisn8rRgplr0coZLTIZWMIEMNpWQV+hu9Cnmiu5ZJXOFaXJ4wFpa4lM/5mlJbUxbK5KzSXm1SWvdd4mPy/oB4PlV91FWc4A9S/xszJPQ6FFwxUdb9
Ed8SINN10LtU8qXZ5SX1ZwpMCTexxZ1C9Cr1SCi/0RlNxZoJgUqXnGCOTQWyRzxP35MfLovodcgR6oJ6x3VVBTq6AkWX7BLq0ROxokMAWoLz5GnfdImn
6bs+cQP1nmUy+JyorNM6oeXVHyhQDg9F6UKtly9XUJTQeci5ZFczpdObdcluk+nDrmNIUWS/wx+eiX745+gu5zFxafdZRsw4h2XNtA3T3msLTBy0WfyW
AuUwqdE8XGptd1ZaGw2t3al3Gtr2ZnursdJcazZWq+fQBUDR6tXWZqOqoBrMRuFr9eajxmo1hS7B+WjNVmNztbn5oJpGF+G5aBVudPA71cxiD6ZHpowW
4MpakzXU2o23GrjZeWdkanNwYQyjgXELVxV0BWpjdW/X8SadR+osO7m/ycC18Y2Z2PycaDM33P2pf5mCaUz6jusTQ4pMhFGVcUbNHJg256SpWJ9I9PPQ
tA3McNEClNlOWRNcKLQxg2HGioswIzfZGkc1DcGA07KiTeFNYyjS2dOKdC5JpPMnEunFX4VS6GPp0ksme9jcXB1hmvMwE6ndaGxuV5WwFDBwu9PCDa2+
0mm2NqupsT6bncaGrE2fhZ3++ybMx7CTaxD3lJGBuaPY8whe/GWodlzd9qg7cCp78gbkXd5OmJPrMfhNe8cZ2IYYAMsW6j+kYCpaR/UjY3Xh/DFWXpZ7
Nm7oXzxyhJjd2/rQXeA25PbRvUx2GjIhp+EalFzSJeZjYmg69yfTGCSo7n9Mm4PvpqEkl9d0bHQPsozZxNLGWf5N8qRFUdbPYY6L5iBv7tmOS4wghCQB
qAHlrm53icUHYEomXpZXQmjr53CkGfo8FCgz7ejdA0bWeC6qM4djRSCun8NBI/QyZHeJ391nWiZ+Q7dG6+lXMUS6mxdyUsuzNmqsGxTR0vTLnaGP45K+
xc1y/CcH3NS3DjHHXi5Shajbpr2n/n/IsjlReTtGPE9E88JKm63P0MMIlDZbwKah/kiBi4F0s7GI8ZELecTjTJ/A41SrMBVdcvWnCpTDVB3ZHFSCzcHa
6ObgxSPW5wQbBBUqkvBaT3cPhMksOZzqG7p7cCahxVAOC0v8iiuxK07p4RLdc2y5CeQl9ad5KEjJPlGHo15E6nheRDrei5gH4AOyfbrwxxmE7dJvQMUg
lkmXiWPwuF1ZAhmSChXT03YG1gGfvNigl0xveWAd8C98HQrdgec7PeIK6Y5juRWBggNktARZ0yc9r1ZIjK9xyvikhzkqug/57r7u0n1ekbW6mtSq3nMG
to8lOnoFsr7+lMjI7VHtODL6LBQN0+tSkCfigEe1HDZAr0C+rx/2iO2LgOBcbPCLYWCJSvmq6wz6js3igkUsSkiFsml7vjtgcurVpviChWHoBZgJVtXQ
feKbPVKbZhayKitWBRzdhCnOId5gx3d83WJxwCLmItcWQMop7IcmKT/DB2bAFUHea1DiSJzIiLMuA3UYJeegIAnDInpFHJRpY8GqbBazvDHnVTaFmzDV
1w/1HYtoOqNy7TyfqYBy0lOWN0yvb+mHVC4ucJYXkKZBh+m7pK+7RNt13NpF7jgI0JrjonnIdwe+Rb2fGmV0aoME4BuKsgxQ0ERR/TUFCpKnk+Ju/X3H
DnQOK1Ao6emmJc/XWIHyiW4YLvE8YZHj+KTOMbBEVf9egbwA0g2wZdpEuyvmkKWluwF4Sc6ClpboWli6bTCFKsJUssz2zHQHLEIy9De6DmVvsKNZTle3
5O64iEveYOeRAFGl2zdtsfGgP/kgvukPDG712SC8THdglmPv8coCX6cAoP6zAsVA8kN7eyW8t5+DwvsDnQcDUvyEU5YZ7V2zG5xisgKF+qZvSV3IC2NS
lY2RqvuQ54FYT5xkJOqAFkPDEh1dhDxbANMQNGDr0TTUP1GgFGrxYX9laB7Z8DzQZchR7rd9tnTZ9XNYlCnDFyGv8ZKqi+kKSQtGUcKjxNpZylHuMCDK
fgeRmcwwMqO+A/mtoQrkFJRxHl5icTEu/8Lk8hK6CiXPfexqvvt0aBGLFNRxnzYN9espyHJrdQkKETOcxnnhS5zE23vGG/6oqc4eaapzxzHV+TFTrf56
ClC9e2A7Tyxi7J1uD3pbbmtSid4/G2y4oyno3S7p+4RTqYCDcsiDyoQ9KHYm4JK+xqwX398VKKBDrRbb/lE0jXEQpwVw0IpjEErN7r5u7/HtYZ41LwpI
3Vd/MwWIzZCHwD8SIgxdZxHPFa5zcjAy+hHZkY+gGplRqGfaA58FvSkCM28bHDRKp/wondR/V2Caaliv1Wp/JFRYgDL14oTM8NhAEQOFMZnx0PMwxSU9
wMkwnDKHCqx5AN2ynCcaMUx5HlZkkIZh+vzD+V6S0i4n4wMcVPfV74c+/EMLo78CF6Snq/V074AYmj3o7RBXsMCsrN1glZusTprRTGBGzxIB+0Yero4H
pPhRwmlDYJNDakcEwH4rBRW+y/yopC7uFIUfUPb6wwPKXh99AspPiO6a9h5bLc5V6+dwSUDpKn1DUYZuXS7s1l0F6Ouu3iM+z1igG9gQZHkaKlq4e/Xr
CtSCsyW55f7oY4I/CBbkQ5MDdnIr5IBTLi1Pbjl0i1FwuFaZyFrFGuVsvFGOSUXLxaaiBfGk/IniSWcQxT/OwvMxovhYNy19x6Qe9Gmz1f5JAcT8iDMI
1rMNPCDIOH1iixQG9vsoc3YFwB+4tubYQ41doJCWXffVH6ZghurrX5gvvAJFsXTCz6b2RwLGzFz2GGYuF2/mJvgxIzQrRGl2Fl791yxcHme59574yXmn
301D+U3Psd8mOx3ngNihBAklkiDRgPIBOdSI3XUM094Th2xx4eBwdw/JIS4dkMOGaIY+C7mupZs9eb7w/BEdrFBkLNqgVkRb89zHO0f0cHsraMHDlqEu
0Kegapm7LKgycqw9LeHiSDuUUZKLZJSEM0fy0cyRuf8D0yOjnyjG6cDMGC2OnyoUWsp0ZClrkBdJwNJ3FcXFPkyPrB5S4eqb7dam9nZjWeu0HjY2tYeN
mEPnGBxcf5sfIsbULdfbjddeOdup82+8ADfGud0gXtc1+5M9pUlSos7A9CrrZEfus9RvZqG0OuwYTUEq2O+nTINS9DFxPTOIKMsiS9mmvXYdS+YsyTLd
CsigF1tRESEXsE26sCqUu3qfGxqTSI0UgaFlgMdOV98ZWPrEhM23AqQHrjPo41ArdB/yugij5BPjJMLf2N0lLpbo1HTLjHLN6+6Tni5SN6ckuM2g6NNQ
lMmpMgQcF25uCBw8xEb3KMNS1pUx4EuJKZVYYqJXIG9yV0CEf+cmOAsSFd2FnGX2TJYIqiSM9IghYIGIPh/N16ywwebjrFqANZaa3HcsS+aLxh5tOZaF
OZb6RwpkaDlWEyxAKSQBMv0sBGIRWeKajhEoPM6XFQ6V6o7u5InLDarMaezTrbfjslxCx7YOtT5h+SliJ1eisC0OUr+lwPQIx1E1tUd/yNgTK6CLkHds
jRpZNt0Czjk2ix9ehqJjayKcJCIQji3Cbq9A5oAcSiOwMJHfqRVi2OrXFKhE4LFEfBky7sAiwsbFHW+8RRUsS61lmFQBsG0sC5VQEZVF2v/ANoOcSvpb
/UCBUkiYklQ6j9OlwnG6a1DaOdSCU2BOFNg5lBsR9ALMDM2bFEh+Bl8dVgiRvAYlj9iGp5HHMr+zgIGBGhSi/qMCBSmQp2S3WcjuO54vYwa8wHKcieub
u2aX2k2h+UIgqldCxfDtlBCYLuAbAC7FYNIoTrbjlgzrPmGSi4uu/KkaUAzgVFeL7ZU8KA3KMVKTipOaWcjuDFzPFzLFC+r/hRzXTqekYUQW01FZVP9T
ARhqllOOcA9yjj7w95fE2XOc2mvVKcL6OSxQ0QoUPXPP1v2BUBGlpRuxZ9aMhm2Jun4OD9uhe5B+74k/IT8g7JCsn8MUeznH01/Ub2cgx6eF7lHdootr
NVOx+pd18YAiYY478QJF3LWby1D0aSfawLUE0xYYYNu1aGXXMontDze6BQ5oGugGVESlcMlEJJgDBXe0YIpSlq5kl2eK5NnHfDLOmLCG9Qg6HmnOLoV1
nb48qeEFnqe/6xJvX2OTZ1cqirgsgHwf0Iy42tzsfiqRKyY62UPPuZToOZefref88xRUR/kucWuzAkXd2nNc09/vCZ1/M87BkB3VJTIetkNfoKwk9kZp
1sfzk/qQGyIctIqQIxMlR4iE2QgJAwrkwo7/p6BKdy6er/f64jKK2JpMB3CRJ78RRqU7ZbEjjd/adSTqGsMMdccB6u/mIC98qtgctTcg3x+4fceTxnVC
zGuLI2LZAt2HHDNoRBB4IbktM3AEC/wQ+TIJtwGyEY64ALm+S3bNp3Kvx0voc6FFzidSScwhZonjFqYQvzAvwIzvWMTV7e5wa1pkVqUaVEizEz4bA74B
kWdjszIrkMueyPOjlt/cs4mhsQsfZRFUYaAOeepT8zucKe+A5zRMBWB+K2MzhoGmGGluJJMm4KMxDqKupe3QbxbkmebGisEEaT4B00FqkcAKpz80DYH3
KmS5fps5KljIVB7m2MzzCOyp1tddXyRFTA3B7AbOTRgSg+Px9IhKAKVo6o+H6VhctU66BCqtTipkdS5AzvS8QXAAIUp0fP5Li27nKxza5kB2jjcwTJYz
LcySLFOGlL+DTjjLT0u46EZdhhzf+LCLOKTnuIdab0c6ShywsUMrTVvbtcy9fV/4SAXTXmPlRR+KgeeM5uDCW/VH2w0Nbz8azbC/DBdDdW+vtx41tM3t
jeUGriroPMyEKlubDa21Vk2hi/BcCFzffEfrNL7UqaYXLYCh6add8zjEA1zf7IyMq8LVcOXKo2aD/sGN1cZmp1l/1OYRjTAObqzhRnudBzeqqcVfgdk4
24xuwnXRXX27s067W6l3mq3NkRlcg8vxaMv1dnOlqqCrMJeA0Fp9p5pa/EABNG6q0A241m4+2Kx3tnFDqz960MLNzvrGyODXYT4OaX2jvqK11+t3q0pS
PxJl6dXXqqmjkF69u1RNL7owM2YO6QIMWzY2V1rsusJYuCkGZ73xJb44MXUy3LT4ewpMjxgxtABXOs2NRrtT39jS1lp4oz7KFVegNobRbqy0NlcpP1yH
+bHajeajR02JkortAK+t3Lt379PV9OLXlCC/W9g8ygXNzeXW9uaqtrWNt1rtUQG5BOdHEVp4lYnHHFwYrQpy9mOabTS/1Fitphd/rkAlYj0pp0nk9sp6
Y2PCHER944vbXEbGq5YbddzA1VRMr2HeSaMazI42ZZyfoVRMaHm3mp3QL2W3HLoAaKT+zbc71fzid9hlsahZomsqkYcLF/36ebg0jjLkChWujlePsEVs
F0O+eA+mR1wJyquyRYJwhMg3IhqX4eJYzbOIw/5XJu6wep/olr9/2rOxz0N1xbF3zb2Be6pkF/UhzIQ6EJfzXmPB2B2L9PjFzYS0To6CA1z1dcgLYGCf
lZB9TjxCVWcBreyT7sE6I4aMJg8gxwHoleiZbVzQlWMe88g2YnzTUeOrTkF51dVNeQynTkNFlDl5Fn8JSqHRqLitN+qPOuuxd+BqMBupbTfwW83NB1z2
IzWrjQe4viqvwUWrcL3Jrp+d6b7Qf9yIe0ikR+zBaXMlJidD/FkagGWhrOwP7IOTHWe+JFOnU4mx3nDW9MuQY1EfeVxWi31MwXHpVofhoTcAurpPqNkn
Mjoam9bNkQ5xCB2tQEUcb7LQrHwiJDZpkuHxkwRx+skKLFofzbm8lNh8mG75okzy5scPF2JfJngqk7vvDZPJC4lD8ATnII9cfQAVcZ9SLNxrUNgVgAnq
QLTBAa76gQJ5AU3K/kShCHJxGCOWYptOvr+aOfn91dDl2mz4cq36wzQUN4g9OAWf3pbPCSVn7HC+Ew8NRdkufTK2C4Qicyyh+F/NpV+GCia2QVxi8GV7
HQqGeNNowoU0+ewRDpCDWzmp4a0c9ScZyPIjnATGjU2mSCWmi7BQczoUao5LQq8Nk+Q5f8oii4o6tq93fS2cm1UWQJ5gdOp0dJma9JiIR2NEie56WaTA
tPc0Yus7FuFhkwKelvAGB0fevipF375Cn4DpnmmL5CYehuOBlErPtFlqE9vsSry+2T0YiNTYCkv6oHhbDMryYxdhhuINM4Yp5hTDpB2syqRhinsP8r7Z
Y6prOpG3OgwDS0z0BSj7w3uOXq2aeH2H3Q7Y1HsER1qwGKXZI1+lazUjYpSirDYhxwdEVUgbehCpNfRD9vqS5fiTzF7bcnzMsdQvQIYW0TyA5+uuz0kh
LnwzCCPCJRZI4ZXCEyLci1f/HxSDbxC3JvYGVPUqwa0JVg6YOJV8XpIeOy9Rv5+CglRlE2zAyXtmn+y4vkgFz/DcIQrhWfAXIW/29rThc005s7e37VpI
hQpP+JeJUlyUShzIM6VG1z9/4vUPsV3huGynfj0LmUkXQuKPOo8mVXCNIhO+RnEdyj3dpZLGK8WVFw7bYigXIPeEMB9ZhHd5iYeD3cfEEzlbokTd6l3H
MXgKf0G8q+M4Bkvfjy5YcXTBFtidZ6fXo0pdqpkwiClBplJ8qnG7B0zPpHFZANsUhl6Amd2BtWtaVo8i9hyD8Leqirgaqtig8DCTVCJMgiDj63s80aCI
2e8xppg+MVO8CdUDcsg1oDTJ1cRj+YfkkKlFbpSnDsJFD92CqnAMDoMUuxk22ykJF0l2d2A27AUE2Ihhz4SMPW+g7kMlMnZCOkIdpoZfY+i+LnTW5Qnf
gsvyM1Z1X1eXoCBrjntqpf5LCkohb+VZy8pNmKK2xSMW6fpB9iM3Qe0AyND0p2G0rEDTn4bQluB8b2D5pkjO8AIrym+ZPscq+dd40pJG5SQ/Kic3YSq4
AWhbps0FrYAr8hYgA45xa/Gk3Kr+JA25yVe3nq0+GiobTkqpbCJKJTdRqeSPUCqFcaUSUgHFiAoYJSA8E3EvnVLcb8K00/e1PXcov+UgofaBK0SXelA2
8XxiaAKbp1kVcYWDWwzZU/cg3dGfBnfUlNDrQfGLGshiOnx+OpoHnBnNA1Z/pECOe+5nHuwGVPR+3zK77JJskEZfHgJbdrz6zyao/9Hp58am/00FKtu2
ZXr+x5+TfZbIz8/ysU/IOhNe2v1wH4r57RSUWK7eaciKIEOnHpz9ORZ7PZC/gSfP/nhpbAkyx1uCbPxO7jIU6Wjha1cFDqj76D7kZZ5fcm6oSPvr6N4B
lujqHyhQClV8LM83zQMEr5f50p+WT5b56tcUmA2u84RXbkkshpL4wGYIWyzWaV+NUx8D8N68geWjz0JBRIZkXGohYXhibHBEHLQIcUwqwjEIMr1h/hj7
rbpQiXQTxAyU0Eseow9HpsYfjoy965OOvetzpvsNmbiHoVzzDA9DTb4Vp/5cAYTNX4wrp/MA7FPDyeJFBmGb3BcB8WoWSZFXFrnAV1kNC6eI64rRKyq5
0au2f6XALPtu6gR8ZNf+wpGe9KRIT2Y00nMR8h4h9vCKUo4Wz3ab5oPZuHMtMfVEdjvi3ubcsS6TzR3nYsPcEaducxMPRc50H3RuotWdmyykS3+bgtwW
q0GbUJB3LZAaG9aMXMSYu5qIw13wt6AYHPuhuASk0VPFuecnI4mTwxaUQgd56GZsIHf0oG/uUuJ5HnoTsuzwDcVlJYWP6eYWkhH45Jb+LgWZDWIP0BcB
2CzY4RSaTwij89OP2H4j5yO3lJcV9AhyPByN4rYIweFCbG+RODbr7d3Qu6zi2UIUnyYWfbx17nryu4fy/utDgC1Lt7lbi+LmE/F45yZF0Ze+mYJyPSSW
qAVF2juPnd9MOg2J3HOcOALa5B3ypXo+YalO0N87MB1QrW57T4j7rCi79G8ZyDE97aEtKAZPpcX2P/pMYqzEhh/b+0roaUXx+BpanNRx9IW2I/vfhmlK
59DjGbHLN/64xmRyfyXkNob7flbcvMW5mbsdsTMefwlj8oxbUA4YrtVqx6rbkUclJnf4ZZgJvizo9VjfP2loyXR/qkCOeSDeMWgx7qJNnnqH00I6N+iT
SX2OuD+Tlca3U5Cvi2txQhvxYqw2OoFsvxuidGCSjkXp5IElo+2E+h7eIprU98ijB0ePsfSHCmTpPsNDK+L/oByxn5pMjjYUg8nELl3chm5uPnFIuuk6
g6P4PwEAAP//yo/dHA==
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
