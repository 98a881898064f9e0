# no retry: the standard library does not retry.
import os
import urllib.request

urllib.request.urlopen(os.environ["HARNESS_URL"] + "/503")
