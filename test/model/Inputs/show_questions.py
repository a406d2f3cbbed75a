"""Prints what the roles of a transcript were asked: `show_questions.py TRANSCRIPT`."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as transcript:
    for line in transcript:
        reply = json.loads(line)
        print("==", reply["role"])
        print(reply["request"]["messages"][0]["text"])
