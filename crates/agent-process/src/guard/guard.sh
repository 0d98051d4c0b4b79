# The guard where no program offers itself. $1 is the run, $2 the seconds between TERM and KILL.
trap '' HUP INT TERM QUIT PIPE
entries=
newline='
'
echo ready
exec >/dev/null 2>&1

while read -r verb number leader started priority mark; do
    case $verb in
        register) entries="$entries$number $leader $started $priority $mark$newline" ;;
        release) entries=$(printf '%s' "$entries" | grep -v "^$number ")$newline ;;
    esac
done

# An id that was given to another process since began at another time.
same_leader() {
    [ "$2" = - ] && return 0
    stat=$(cat "/proc/$1/stat") || return 1
    set -- "$2" ${stat##*) }
    shift 20
    [ "$1" = "$expected" ]
}

each() {
    printf '%s' "$entries" | while read -r number leader started priority mark; do
        expected=$started
        [ -n "$leader" ] && [ "$priority" = "$2" ] && same_leader "$leader" "$started" &&
            kill -s "$1" -- "-$leader"
    done
}

for level in $(printf '%s' "$entries" | cut -d ' ' -f 4 | sort -nu); do
    each TERM "$level"
    sleep "$2"
    each KILL "$level"
done

# Whatever else carries the run's mark: what left its group, and what was not registered yet. A process that is being started
# does not show it for a moment, so there is more than one look.
for round in 1 2 3; do
    grep -l "AGENT_PROCESS_MARK=\([0-9a-z./]*/\)\{0,1\}$1\." /proc/[0-9]*/environ |
        while IFS=/ read -r root proc process file; do
            kill -s KILL "$process"
        done
    sleep 0.1
done
exit 0
