# needs: pandas
# Tables to and from files, times with zones.
import datetime
import io
import time
import zoneinfo

import pandas as pd

frame = pd.DataFrame({"t": pd.date_range("2024-03-30", periods=4,
    tz="Europe/Berlin"), "x": [1.5, 2, 3, 4], "s": list("abcd")})
frame.to_csv("t.csv", index=False)
back = pd.read_csv("t.csv", parse_dates=["t"])
assert back.x.sum() == 10.5 and len(back) == 4
frame.x.to_frame().to_json("t.json")
assert pd.read_json("t.json").x.sum() == 10.5
frame[["x"]].to_pickle("t.pkl.gz")
assert pd.read_pickle("t.pkl.gz").x.sum() == 10.5
grouped = frame.groupby(frame.t.dt.month).x.sum()
assert dict(grouped) == {3: 3.5, 4: 7.0}, grouped
summer = frame.t.dt.tz_convert("UTC").dt.hour.tolist()
assert summer == [23, 23, 22, 22], summer
zone = zoneinfo.ZoneInfo("America/New_York")
assert datetime.datetime(2024, 7, 1, tzinfo=zone).utcoffset() == \
    datetime.timedelta(hours=-4)
os.environ["TZ"] = "Asia/Tokyo"
time.tzset()
assert time.localtime(0).tm_hour == 9
print("held")
