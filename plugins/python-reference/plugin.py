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
eNrMfE1wG8l1sPAPPAAk2KuVIGolcUeSreXuSitKuyt7/dkGSVDEigToAbjr3c/JZAg0wVkOZrAzA0l0UqlUvJW4fErslF3lS3Jw+eBcnEMqF59SqVQu
qUouqTip5JBDLqkcnVQuqVS/7h7MADMgKWrXPgH9+nVPz+v3368HfpSEl1zqPKbO0Z2hOeob1p3Hd+90ddO8PXRszyYLovc27739+K7y5wlIr+mmSRYh
vzdyDYu6bjWxlLiVUv026xuaurdvO4Nqcilxq6D6bXIeMq5nO7Sawg7eYCNc6nmG1Xer6aXErZLqt8nnYd7o0cHQ9qjVPdIO6VE1g2PnAuBH9IhN0h05
DmtWs/yxsr1698M7fcM7GO3d7tqDO+K9Xj8Y7d0JU8C9g6/+znBvL4v/7sGfXIoi09DUrVgyLc6kq/L9BOTXaddwDdsir0OazYVELK5cvD012e0dU7c2
z6mIRs5D2j00hpyuDMpa5IuQN+m+p9kjr5paSt0qrlyLmmi0ZxruQd1xbEfNsQGtkbdagJw98rr2gCp/kYY0exojJbV6Q9uwPFxYQfXb5AJkB9Q7sHti
b0WLEEgPde9AbCz+Jw8g8/GIOkfVNC5KiXm7219jSHXLc45UPoB8GXIHVO9Rx61mcOyNuLGbHI2PloPYavbsHmeEkor/yQbMubTrUE+TU+diadVGRD63
WnYDLZc8gJw76nYZ6+dx165GTcAx1JFJVYlOlqDYdWiPWp6hm261sJS6VVCDIPI6kw86dKuAS4vih7ZHhyrHIhVIjRyzWkSas7+LDwDG1GT9TGD4HrK/
TAAf6+aIit3jjS8mHyQWvwilIC1PM1b54yyk2boY3S19QMUo/B/ipmQsN6UiuSkd4Cbxshn/Zcf8lY3lL7aq2fyVi+UvHDubv/IB/roMBSajGnYUlhK3
8qj4rFXWSSC9b5gm7mtBxf/kDUijkiziCl6KWMGG7Qw2DGr2VMRk7DHUHc+tlmLZY0d3PJVjsYf2v2kMq2VcDP6PkIK5Z5KCCV6en+blgJxUTicnr0La
0w9pdSH2LTv6IVURidxmNOlTt0rwIdVImvSpq3K0X5KE/EEC0mzRkRLyMpQ+cm1LQ5mgjhhdZLAdDiJXAAb6U82kVl8o2bJaGOhPtxDAZMweeoZt6SbK
TF7120zG+Nah6ORV0VLehILPX5HLinwb5UcJSDMmi5P1fcOkCBeyLtvsLbu25VHL07yjoXQBigLWORoicTz61JNiz/6TKuQECq6/pMpmWOCyYYFTLMjg
tpObMNcdOa7t+OTlCy5zqCQwWx1H4ypF7AGHIcOw57E94NzGtyA/0J/iY5QPoRQUF0Z1LmDicaIV2A1hP3mLUc6jA+YoScr4beWPElAMCAr6S57ujVzK
vK/UrYzqt0/CS9cAmxr9eMRElz8NGKiOEEayfcPSTc1/ShqfUkZoWwCVHyQhr1J3aFsuxffCDnzfjCpaZHWsaZMozrciBFTOcoy2TQW0LYE0s4GSVdh/
8ibkqO6YBnWE13B5xrNUicv4nO8pMyMlqSfOKO2VBqP10KGeSj8eUddjWo15gTNcPeZaq4hE3oa8IxaK0x/zLj4y2we9yyRfWlTeUn6YgDnhAba4v0fe
ZM4G4ze2orlICyBQ2ZZTlWMzgRxQ19X78sVlk7wNWcq8S/ekXqhAVw6hFISzl2BWxJPkFi3yImQduq8Z0vnMOHS/gcqra/ek3OD/4CrToVUufy8BpeB7
kStwqbXbWWtt17V2p9apa7vN9k59rbHRqK9XzpELQMLd661mvZIgVTgfhm/UGlv19UqSXIIXwz079eZ6o/mwkiIX4YVwl1rvqB9U0mcJUf7xOlyZjjhs
p0edZ4xRFmeGPMpvQaXj6JbLlNMzcfc7kHP4OMHcL0fgN6w9e2T1xANUOUL5lyTMhfsYAxwaVk+aIvafrErnkKud1459QoSbuDlWXpyjbx8/y2wVlg6o
sGtQdGiXGo9pT9O5dUupIEE175fkqvxTEopye1mIeg8yyEtia6P0UJM+aTGUzXMqxyWLkDP6lu3Qnh+rSgCpQ6mrW11q8geg2EYri7UA2uY5NTSMfAXy
jJn29O4hkjWai2qo/tYE4uY51R9E3oDMPvW6B+g7RHuOG6yfvRUiMo3p0KHJUxDRS/a5YWgeqRybxdgDqluG1Vd+AzI4J5OXEwT+IuxfhgWZQtGQvmMV
OC87cAMaPeVnCbjoSyc+i/Y+cyEN2a/UKeyXUoG58JYp/5aAUpCqE65G2Xc1NiZdjdeO2Z9TuBsKlCXhtYHuHAqjUrQ51bd15/BMQqdCKcjs0TueiNxx
Rg+H6q5tSZeSt5T/zkJeSuapJlyCEibmtJCxBYSpaHGDs3FUQ4bw/mxtBm/0WOjCH4heP6dbASHo81+Hco+aBtsmjsED/JIEIpICZcPV9kbmIV+8cPeL
hrs6Mg/5G74N+e7I9ewBdaq5WJZbEyiqj0xWIGN4dOBW87GBOKeMRwcqR2XBbfdAd5jXWMBRV+NG1Qb2yPJUiU7uQ8bTn1KZ4jluHEcmX4JCz3C7DOSK
hMFxI8cDyH3IDfWjAYuheOZgMTJKRgxVojK+6tqjoW1hAqGgihZRoGRYrueMUE7d6hzfsCCMvAoL/q72dI96xoBW59HCVWTHuoCzeINziDva82xPNzFh
UFC5yLUFkHEK/tEk5Rf4gxG4Jsh7DYociROZcNZFUAcpuQh5SZjqCzzQkm02WLAqruI8H8x5FZdwE+aG+pG+Z1JNRypXX+QrFVBOeuV3EpCXjBYXWg8P
bMtXBNhgUDrQDVNmx7HBNk/v9RzqusLMRW1ejWOoElX5hwTkBJC5zaZhUe2uWEOGte764BW5CtZaYQQydauHWk5EorKNnjZzy0XUxf6ziNMd7Wmm3dVN
1sflt+iO9rYEiGnCoWGJtDz7yx/iGd6oR1FY8SG8TV6Cgmlbfd6Z5/rCByh/k4CCL46BiCARjAgWIf/xSOchRJKfT8g20t4xuv4ZBDYY1DM8Uyoo3phi
9UwEqz+AHM+1uCIPGSuYLURTJbpiQjEA/5TfRdHF0ziPjpESwReOtFBs251xYgL/+0FXehx0KR9AbmesPPhryhCOtzA+5ZIjjBVvkatQdJ3HjuY5T8e2
pMBAHedpo6d8koQM1/OXIB8yYCk1J6zwafykKSOXOpmRS5/EyGWONXLZkxi53JSRU343CaTWPbTsJybt9Z8t+rotHfpkrN+LDxv78nm926VDj3Iq5VW/
HfA90kHfA3NzDh1qqPd5ZJNngA7T9xj4MDQNOYjTAjhojQXvVwC6B7rV54FRDocXBKTmKb+XBIIr5Kmoz4QIY6dT5FWE0xmbZ5h4iczESzC1iRQaGNbI
w+QTQygy2DYHTdIpN0kn5b8SMM/UoNtqtT8TKixBifk/QmZ4VFxQgcFQZlxyA+a4pPs4acQpcajAugKgm6b9RKM9Q+alCwip9wyPv/jQdjxOu6yMjDmo
5ik/Cbz4p5bOug8XpI+oDXT3kPY0azTYo45ggfOydxs7m9gnbV3at3VnSe18OwdXp1MxPKX3rLmd2bmiY1I/v5+EMo/PPiupi8pm8oOCwXB8UDAYks9B
6QnVHcPq425xrto8pxYFlO3StxOJse+VDfpeVwGGuqMPqMcPBVnoF4CszkNZC06vfJKAqp/jlcHqZ58N+1N/Qz41OcATFCEHnHIpeYLCoTtIwfFepUN7
FWmUM9FGOaLaIxtZ7eFnYnKnysScQRT/Mw03IkTxsW6Y+p7B3NxnLQj5ywQQ9CPOIFjPN2QnkLaH1BJHifj/GHOmfC8JC0wj/8q8w0tQEJsjHGFmYSRg
ypBlTmDIstGGbIanchZ++48MXJ5mm4+eePHlWT9MQeld17bep3sd+5BagcPGROiwsQ6lQ3qkUatr9wyrj5Sei6yfCE73iB6pxUN6VBfDyJcg2zV1YyCz
4zeOmWCNIatiDGmFNC4vEbpzzAy3d/wRPGkXmIK8AhXT2MeUgubSrm31eMBWVuclvM3BgdPZbOh0NngKmwufwi7+P5ifePqpMnw2LEzR4uTH7oGtTIW2
sgo5USsn/U/RXB7C/MTuEQWuvttuNbX366tap/Wo3tQe1T+YOO5ahAsROGrt/UqCXIFLEX2rtXb9rfuV5Fm4/aevwPVpbu9Rt+sYw9neziwpURZgfh0n
2ZOxkvLPaSiujycmc5D0Q+6k0WMUfUwd1/DzqbKJlY1s1q5tyvN/2WbufM9wh6Z+pOGOivywgDXZxipQ6upDbiwMKnVOCEZWAR7bXX1vZOoz65re85Ee
OvZoqAZGkQeQ00W+IhebkBA+w/4+dVSJzsyvLLzU3O4BHeiiwmlOgtsIJV+AgqzhkgnQqGRrXeCoY2xyjzEsY12ZAb0UW3mkSkxyH3IGN+ci+bk4w+BL
VHIXsqYxMLBeKhHzpC1EUAUi+Uq4rKmMD7sSZbd8rFDVk/K9BMxPbA6T6D77I1Mt2CAXIWdbGrM4yGd5NWtbmNO6DAXb0kT2RATctiWSRPchfUiPpL5c
mskaTGEjtvKtBJRD8EjN8waknZFJhTmIyoO/x3QRFmshJpMVjNowM8C4WTbZ/CPL8Et52H/lxwkoBvguTvvxtFQymJa6BsW9I80/7uNEgb0j6XeTV2Fh
bAkk7/LD1sq4Q3DvNSi61Oq5Gn0sy4ryKiCoziDKvyYgL3k3cpVLUAzoJllkEwCx9ziwXU+GyLyBVXPU8Yx9o8tMjFASARATwUAzWO8cALMNfAfAYRjI
uOIIM2rLVN2jyORqwZF/lR4UfDhTayKakCdqfhsT3tQx7J5vUZOIUeZQaU/PQ2Zv5LieUIu8ofx/yHJBfkYaXobCkDrauGI8r+aH1EEPT/mfBMBYCJ/x
Cfcga+sj72BFHFJGaYhWjSFsnlMFKlmDgmv0Ld0bOVSk5K9HHm4iDdsSdfOcOh5H7kHqoyfejIPkoO3ePKcy7NUsr3NQvp+GLF8Wucd0iy4KteciVRVO
8ZAhqRx3ZkluVCH3ZSh4bBJt5JiCafMI2HVM1tk1DWp547guzwGNHrkOZdEpvBeR+ORAwR0tmGOUZTvZ5SUBOXyZz0fpXRxYC6GrE8PxmkHXHsrTA95g
a3HovkPdAw0Xj0W6BbUkgNxlboS8Um6hXonlipn+6NjJLMY6maXn62T+IgmVSb6LjQLWoKCbfdsxvIOB0Pk3o2yxnKgmkdXxOPJVxkoijEjhHDdmzSFj
B9UfFSJHOkyOAAkzIRL6FMgGfeRXoMKcfNfTB0NR3iy8+HkfLsozt4OoLGzUPWSW6CioI1E3EDMwHQcof5iFnHA/IouR3oHccOQMbVca1xkpnh2OqMoR
5AFk0aBRQeCl+LFo4Kgq8APkS8cUoWZCHHEBskOH7htPZVjEW+TLgU3OxVJJrCFii6M2Jh+9Ma/Cgmeb1NGt7jiKK6BVqfgd0uwEj4KA++ryKOi8LP/i
sicKupjlN/oW7WlYZ1wSGQYEdehTj5nf8Ur5BPzwe84H82LgZgQDzSFprseTxuejKQ5i8YNls3cW5JnnxgphgjSfg3m/BkVgBc/JGz2B9yZkuH5bOC43
hipP5djoefj2VBvqjidOz+fGYCz8vgljYnA8fo5e9qEMTfmrcd0OV62zrhVJq5MMWJ0LkDVcd+Tn20WLPZ//08KRb5lD2xyIx1ajnkGtrjyQ89uMIeV/
fxLO8vMSLqZRViHLYwSs/6YD2znSBnvSUeKA7T3WaVjavmn0DzzhI+UNawPbyx4UfM+ZBdjv1bZ265q6uzVZa3oZLgb63t9sbdW15u72al2tJMiLsBDo
bDXrWmujkiQX4YUAuNb8QOvUv96ppJZNgLHpZ1PzkP2hWmt2Jp6rwNVg59pWo85+1Pp6vdlp1LbaPPgP4qj1DbXe3uR5gEpy+bfhfJRtJjfhZTFdbbez
yaZbq3UarebECq7B5Wi01Vq7sVZJkKuwGIPQWv+gklz+cQLItKki1+Fau/GwWevsqnWttvWwpTY6m9sTD38ZrkQhbW7X1rT2Zu1uJRE3j0RZefOtSvI4
pDfvrlRSyw4sTJlDtgHjkfXmWmu90Xw4nZmJwNmsf51vTkSfzMwsfzcB8xNGjCzBS53Gdr3dqW3vaBstdbs2yRUvQXUKo11fazXXGT+8DFemercbW1sN
iZKMnEDdWLt3794XKqnlbyX8Ql5h8xgXNJqrrd3murazq+602pMCcglenERoqesoHotwYbKrtsY4hFdkT/ZtN75eX6+kln+RgHLIejJOk8jttc369ow1
iP7613a5jEx3rdZral2tJCNmDfJOilTh/ORQ5Pw0o2LMyLuVzIx5GbtlyQUgE/3vvt+p5JZ/gHcUwmaJ7alEHm9c+O2vwKVplDFXKHB1unuCLSKnGPPF
RzA/4UowXpUjYoQjQL4J0bgMF6d6nkfK8n/TUWezB1Q3vYNnPQr6ClTWbGvf6I+cZ6rtUB7BQmACcSfkLcxb7pl0wO8LxdT/cRTVx1XehpwA+vY5EbDP
sSeGynkgawe0e7iJxJCJ1xFkOYDcDx9RRuUnOeYJTyhDxjcVNr7KHJTWHd2QZ1LKPJRFm5Nn+TehGHgaE7fNem2rsxl5G6QK50O97br6XqP5kMt+qGe9
/lCtrcsLIeEutdZo4oWQszDg3y9FXU0fUGv06Vz7OADAmou1g5F1eLqjvddliW0y9kpnoLpWeQjlDcNiki8e9hbk9wVgBgeLMaqPqzQhJ4Bx1XUkkPMs
jLOaktFSYcb+sxQUtqk1egYS3JafPogvfcDElvwowjsAXd2jzI+h8oAtsqCZIx2pAfQxvdMnoTdZg7I468TUtLx0H1nIiHj80EEchWIDE/vhOshLscP9
EkjymqyG5icVFyLv+j6VVdD3xlXX+dhH8Epgv+Ba+QaUVWr1qEN7fNvehnxPfH9hxp0W+YkG1Uf2LwYkxxcDlJ+nIYP7FsdgkWfWydhzd0xipgJJzKiS
2+q4JJhHNrKJ+Tbb8vSupwWLXEoCyCs1nrn4VtZ4PKbigrtosXgKY1DD6mvU0vdMygPyvDov4XUODn2noxj+TgeLcAeGJapEeIKHh+jlgWFhjQiGURJv
aHQPR6LGsIxH7wxvB6FYaLgMCwxvXHrJMOcQk02wLqsvGe49yHnGADXMfCxvdRBDlZjkq1Dyxlel3Gol9gYB1kI39QFVQyMw+2UM6DfZXi2I7JdoKw3I
8geSCqR6up8D7OlH+KUI0/ZmadS2aXsqx1K+CmnWJFcAXE93PE6KhKiyZRAkwiUM0XmnsLGU+4fKr0HBfwdRI94fMRWZ8GvEse0zcTI+E5+aysQrP0lC
XqqyGbr69DPjK9uOJ2pq07xEg0F4OfFFyBmDvjb+tETWGPR3HZMoUB7qDrU8WY/CRanIgbwgZXL/c6fe/wDb5U/KdsonGUjPKn+PPkQ7nlR+OXk6WE7+
MpQGusMkjXeKAn8O20GUC5B9QtH7EolD3uKJRucxdUVpjGgxh23ftnu8FjovPhRg2z2sgw5vWGFyw5bw2qQ9GDClLtVMEIRKEFWKxzRu9xD1TEotCWCb
wcirsLA/MvcN0xwwxIHdo/y7GgW1EujYZvAgk5RDTEIg7el9/hGNgor/p5hi/tRM8S5UDukR14DSJFdiD3wf0SNUi9wozx0Gmy65BRXhGBz5lUwLuNo5
CRe1THfgfNAL8LEJYi8EjD0foBxAOfTsmIPuGsyN36ane7rQWZdnvItakq+xrnu6sgJ52XPS8xDl35NQDHgrz1tWbsIcsy0uNWnX84vMuAlq+0BE058G
0TICTX8aQFuBFwcj0zPEsb/rW1F+0e0F7ORv40pLGpaT3KSc3IQ5WZFiWKZhcUHLq2UBbSBwilsLp+VW5ecpyM6+wvJ89dFY2XBSSmUTUirZmUold4xS
yU8rlYAKKIRUwCQB4bmIe/EZxf0mzNtDT+s7Y/kt+XWLDx0husyDsqjr0Z4msHmtS0Etc3ALkV2lD6mO/tS/7JMIfGEhelN9WUwFT+Ymyy3Tk+WWys8S
kOWe+5kfdh3K+nBoGl28p+fXI5fGwJYVrf4zMep/cvnZqeV/JwHlXcs0XO+XX/p6pqrTdNS3JBzjDN+SmH3fQPlFAohq/Gpc5rkCgK8aLOErIAS93teA
8G4MreRlEO4OVbAH4ytxESRcGpydLJj+6wScx/dmWuEzu1ARDP1Ss0K/9GTodxFyLqXWuPg7y5pnq3H+hESlUMXSY9ntmBsxiycq0188Sbnp4jEJ3sWZ
+bcz3bRZnC2GK3+bhOwO9pAm5GWNK1EiMxmhAtjFq7E43Oq+BwU/h0yiTrMnU9SLN2YjiTR0C4qBrDC5GZm7mcwaL16KTQ6TdyGDmVwSdcQdzPkuLsUj
8MWt/F0S0tvUGpGvAeAqMNVJrsRkznheMnLeUObyVuKNBNmCLM9AkSivwM8nRs4WSl3hbB8Gvi0lvppEomsOwh+gWnw5/nNM8u7QI4AdU7e4JSNR6wkZ
ucVZibOV7yShVAsIHmlBgc3O02U34xKgoRskM59AmnxCvlU3YrbqFPN9APM+1WqW+4Q6z4uyK99NQxY1sUt2oOB/oCVy/smPK0VKbPATPb8e+CCT+OQL
WZ41cfi7MMfOvwvzjM6Bi8eR2zd9MXk2uXc4t3HDHznj9C3f2TO2oOQzRKvVjlSHExdmZ0/4DVjwd9uf9UQ8MevRkil+moAs+gDuCWgx7STNXnqH00K6
F+TzcXNOOCCzhfr7ScjVxHUBoS14M1JbnEL2PgxQ2jcZJ6J0/IOlWtsLzD0uGZ8198SFzuOfcQY36P8CAAD//3vb8+A=
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
    capabilities=["action_plan", "menu_check", "order_translate", "rider_status"],
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


def check_items(call, items):
    """Returns a finding for each item whose title is too long."""
    problems = settings_problems(call.settings)
    if problems:
        raise Refusal(f"settings of platform {call.platform}: {problems[0][0]} {problems[0][1]}")
    longest = json.loads(call.settings or b"{}").get("longest_title", 60)
    return [
        PB["Finding"](ref_id=item.ref_id, rule="title_length",
                      message=f"the title has {len(item.title)} characters; {longest} are the limit")
        for item in items if len(item.title) > longest
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
    """Receives the chunks of a menu and checks its items."""
    try:
        with IN_FLIGHT:
            call, items, size = None, [], 0
            for chunk in chunks:
                call = chunk.call if call is None else call
                size += chunk.ByteSize()
                if size > MAX_MENU:
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the menu is too large")
                items.extend(chunk.items)
            findings = check_items(call, items)
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
