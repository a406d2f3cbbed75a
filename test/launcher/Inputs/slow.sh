#!/bin/bash
# Stands for a kb-opt that is at work until a signal comes.
trap 'echo SIGTERM >ended; exit 4' TERM
sleep 60 &
wait
