# usage: fake_judge.sh MODE FILE    a process that judges models for unit tests: answers, refuses, hangs or dies, as MODE says
# FILE: it behaves so once, for whichever process asks first, and leaves this file behind; "": always. Its answer to a run is what it was given, and a run takes a quarter of a second.
mode=$1 once=$2
bad() { [ -n "$once" ] && [ -e "$once" ] && return 1; [ -z "$once" ] || : > "$once"; return 0; }
while read -r line; do
  case $line in
    *'"hello"'*) [ "$mode" != lacks ] || { echo '{"error":"a package is missing"}'; continue; }
                 echo '{"library":"Fake","version":"1.0","device":"shell"}' ;;
    *'"model"'*)
      case $mode in
        refuses) bad && { echo '{"error":"no such operator"}'; continue; } ;;
        dies) bad && { echo 'out of luck' >&2; kill -SEGV $$; } ;;
        hangs) bad && sleep 60 ;;
        babbles) bad && { echo hello; continue; } ;;
      esac
      echo '{"partitions":1,"on_cpu":[]}' ;;
    *'"timed"'*) echo '{"seconds":0.25}' ;;
    *)
      [ "$mode" != dies_running ] || ! bad || kill -SEGV $$
      from=$(printf %s "$line" | sed 's/.*"from":"\([^"]*\)".*/\1/') to=$(printf %s "$line" | sed 's/.*"to":"\([^"]*\)".*/\1/')
      shape=$(printf %s "$line" | sed 's/.*"shape":\(\[[^]]*\]\).*/\1/')
      cp "$from" "$to"; echo "{\"outputs\":[{\"type\":1,\"shape\":$shape}]}" ;;
  esac
done
