#!/usr/bin/env bash
# Runs the fixer and proposes what it fixed: one branch, one pull request, updated by the next run. In two steps, so that
# what runs the project's code has no token, and what has one runs none of that code. The actions use it; so can cron and
# other forges, which need git alone (without `gh`, or without a token, the branch is all there is).
#
#   propose_fixes.sh fix       run ddelint; leave patch, body and base in DDELINT_FOLDER, and the working tree as it was
#   propose_fixes.sh propose   read these, push the branch, open, update or close the pull request
#   propose_fixes.sh suggest   post what `fix` left of a run with `--diff-base` as suggestions on a pull request's lines
#   propose_fixes.sh           fix and propose, one after the other
#
#   DDELINT_PATHS       what to check: words as a shell reads them, "with quotes"   [.]
#   DDELINT_PYTHON      the interpreter whose torch does the tracing                [ddelint's own]
#   DDELINT_ARGUMENTS   more options of `ddelint check`, likewise                   []
#   DDELINT_BRANCH      the branch of the proposal                                  [ddelint/fixes]
#   DDELINT_BASE        the branch that it is to be merged into                     [the one that is checked out]
#   DDELINT_REMOTE      where the branch is pushed                                  [origin]
#   DDELINT_FOLDER      where patch, body and base are left                         [a temporary folder]
#   DDELINT_UNSAFE      unsafe fixes: `commit` (one of their own, the next) or
#                       `pull-request` (one of their own, on top of the first)      [none]
#   DDELINT_PULL_REQUEST  the number that `suggest` writes to
#   DDELINT_PUSH        options of `git push`, words as above                       []
#   DDELINT_BIN         the command                                                 [ddelint]
#
# With `--unsafe-fixes` among the arguments, DDELINT_UNSAFE is `commit`.
#
# Exit code: 0, or 2 where ddelint or git could not do their work. Findings that remain are no failure, nor is a branch on
# which others have committed: it is left as it is, and the pull request gets a comment.
set -euo pipefail

readonly longest_body=65000 # characters; GitHub takes 65,536
readonly trailer=Ddelint-Tree
readonly marker="<!-- ddelint: commits of others -->"

fail() {
  echo "propose_fixes: $1" >&2
  exit 2
}

words() { # the words of $1, in the array `list`
  list=()
  if [[ -z "${1//[[:space:]]/}" ]]; then return; fi
  local word split
  split=$(printf '%s' "$1" | xargs printf '%s\n') || fail "quotes do not match: $1"
  while IFS= read -r word; do list+=("$word"); done <<<"$split"
}

tell() { # an output of the step, where there is one
  if [[ -n "${GITHUB_OUTPUT:-}" ]]; then printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"; fi
}

# ---------------------------------------------------------------- fix: no token, no network

restore() { # what ddelint has written is taken back, the last first, and nothing else
  local one
  for one in "$unsafe_patch" "$patch"; do
    if [[ -s "$one" ]]; then (cd "$(git rev-parse --show-toplevel)" && git apply -R --whitespace=nowarn "$one"); fi
  done
}

run_ddelint() { # with the arguments $@; it may run the project's code, which gets nothing that a later step trusts
  local code=0
  env -u GH_TOKEN -u GITHUB_TOKEN -u GITHUB_ENV -u GITHUB_PATH -u GITHUB_OUTPUT -u GITHUB_STATE -u GITHUB_STEP_SUMMARY \
    -u ACTIONS_RUNTIME_TOKEN -u ACTIONS_ID_TOKEN_REQUEST_TOKEN -u CI_JOB_TOKEN \
    "${DDELINT_BIN:-ddelint}" check "$@" || code=$?
  if ((code > 1)); then exit 2; fi
}

sections() { # of the report $1: what stands before the first heading, or the section $2, or all from section $2 on ($3)
  awk -v wanted="${2:-}" -v rest="${3:-}" '
    NR == 1 { inside = (wanted == "") }
    /^### / { inside = ($0 == "### " wanted) || (rest != "" && inside) }
    inside { print }' "$1"
}

join_bodies() { # the summary of both commits, in place of the one of the safe fixes
  {
    sections "$body"
    sections "$body" Fixed
    printf '### Unsafe fixes, in a commit of their own\n\n'
    sections "$unsafe_body" | sed 1,2d
    sections "$unsafe_body" Fixed | sed 1,2d
    sections "$unsafe_body" "Needs manual changes"
    sections "$unsafe_body" "How to reproduce" rest
  } >"$body.joined"
  mv "$body.joined" "$body"
}

fix() {
  local list paths given=() reviewing=() word
  if [[ "${GITHUB_EVENT_NAME:-}" == pull_request_target && -n "${DDELINT_PYTHON:-}" ]]; then
    fail "on pull_request_target a trace would run a stranger's code with this repository's rights: use pull_request"
  fi
  words "${DDELINT_PATHS:-.}"
  paths=("${list[@]}")
  words "${DDELINT_ARGUMENTS:-}"
  rm -f "$patch" "$body" "$made_on" "$unsafe_patch" "$unsafe_body" "$review"
  for word in ${list[@]+"${list[@]}"}; do
    case $word in
    --unsafe-fixes) unsafe=${unsafe:-commit} ;;
    --diff-base | --diff-base=*) reviewing=(--output-format "github-review:$review") ;;&
    *) given+=("$word") ;;
    esac
  done
  if [[ -n "${DDELINT_PYTHON:-}" ]]; then given+=(--python "$DDELINT_PYTHON"); fi
  git rev-parse HEAD >"$made_on"
  trap restore EXIT
  run_ddelint "${paths[@]}" ${given[@]+"${given[@]}"} ${reviewing[@]+"${reviewing[@]}"} \
    --fix --patch "$patch" --output-format "markdown:$body"
  if [[ -n "$unsafe" ]]; then # on top of the safe ones, so that each commit is a program that was verified
    run_ddelint "${paths[@]}" ${given[@]+"${given[@]}"} \
      --fix --unsafe-fixes --patch "$unsafe_patch" --output-format "markdown:$unsafe_body"
    if [[ "$unsafe" == commit ]]; then
      if [[ -s "$unsafe_patch" ]]; then join_bodies; fi
      rm -f "$unsafe_body"
    fi
  fi
  trap - EXIT
  restore || fail "the fixes cannot be taken back: something else has changed the files meanwhile"
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then cat "$body" >>"$GITHUB_STEP_SUMMARY"; fi
  tell patch "$patch"
  tell body "$body"
  tell folder "$folder"
  if [[ -s "$patch" || -s "$unsafe_patch" ]]; then tell changed true; else tell changed false; fi
}

# ---------------------------------------------------------------- propose: runs nothing of the project

authorize() { # git uses the token that `gh` uses, whatever checkout has left
  if [[ -z "${GH_TOKEN:-}" || -z "${GITHUB_SERVER_URL:-}" ]]; then return; fi
  local key="http.$GITHUB_SERVER_URL/.extraheader"
  export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=$key GIT_CONFIG_VALUE_0="" GIT_CONFIG_KEY_1=$key
  GIT_CONFIG_VALUE_1="AUTHORIZATION: basic $(printf 'x-access-token:%s' "$GH_TOKEN" | base64 | tr -d '\n')"
  export GIT_CONFIG_VALUE_1
}

fetch() { # a commit, or a branch, of the remote
  local depth=()
  if [[ "$(git rev-parse --is-shallow-repository)" == true ]]; then depth=(--depth "${2:-2}"); fi
  git fetch --quiet ${depth[@]+"${depth[@]}"} "$remote" "$1"
}

start_of() { # the commit that the fixes go on: the one they were made on, where the base has it, or else the base's tip
  local tip made
  tip=$(git ls-remote "$remote" "refs/heads/$base" | cut -f1)
  if [[ -z "$tip" ]]; then fail "there is no branch $base on $remote"; fi
  fetch "$tip" 50 || exit 2
  made=$(cat "$made_on")
  if [[ "$made" =~ ^[0-9a-f]{40,64}$ ]] && git merge-base --is-ancestor "$made" "$tip" 2>/dev/null; then tip=$made; fi
  printf '%s\n' "$tip"
}

commit_patch() { # sets `commit`: the patch $1 on top of $2, called $3, made without touching branch or index; $4 if it is that
  local index tree odd
  odd=$(git apply --summary "$1") || fail "the patch cannot be read"
  if [[ -n "$odd" ]]; then fail "the patch does more than change lines of files: $odd"; fi
  index=$(mktemp -u)
  GIT_INDEX_FILE=$index git read-tree "$2"
  if ! GIT_INDEX_FILE=$index git apply --cached --whitespace=nowarn "$1"; then
    rm -f "$index"
    fail "the fixes do not fit what is committed: are there changes that are not, or is $base further by now?"
  fi
  tree=$(GIT_INDEX_FILE=$index git write-tree)
  rm -f "$index"
  odd=$(git diff-tree -r --name-only "$2" "$tree" | grep -v '\.py"\{0,1\}$' || true)
  if [[ -n "$odd" ]]; then fail "the patch changes what is no Python source: $odd"; fi
  if [[ -n "$4" && "$(git rev-parse "$4^{tree}" "$4^" 2>/dev/null)" == "$tree
$(git rev-parse "$2")" ]]; then
    commit=$(git rev-parse "$4") # the same as last time
  else
    commit=$(
      GIT_AUTHOR_NAME=${GIT_AUTHOR_NAME:-ddelint} GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL:-ddelint@users.noreply.github.com} \
        GIT_COMMITTER_NAME=${GIT_COMMITTER_NAME:-ddelint} \
        GIT_COMMITTER_EMAIL=${GIT_COMMITTER_EMAIL:-ddelint@users.noreply.github.com} \
        git commit-tree "$tree" -p "$2" -m "$3" -m "$trailer: $tree"
    )
  fi
}

is_ours() { # whether the tip of the branch is what an earlier run has pushed, and nobody has changed it
  local said
  said=$(git log -1 --format="%(trailers:key=$trailer,valueonly)" "$known" | tr -d '[:space:]')
  [[ -n "$said" && "$said" == "$(git rev-parse "$known^{tree}")" ]]
}

push() {
  local list
  words "${DDELINT_PUSH:-}"
  if [[ "$commit" == "$known" ]]; then
    echo "propose_fixes: $branch is up to date"
  else
    git push --quiet --force-with-lease="refs/heads/$branch:$known" ${list[@]+"${list[@]}"} \
      "$remote" "$commit:refs/heads/$branch" || exit 2
    echo "propose_fixes: pushed $branch"
  fi
}

has_gh() { command -v gh >/dev/null && [[ -n "${GH_TOKEN:-${GITHUB_TOKEN:-}}" ]]; }

open_number() { # the open pull request from this branch; one from a fork may have a branch of the same name
  gh pr list --head "$branch" ${target:+--base "$target"} --state open --json number,isCrossRepository \
    --jq '[.[] | select(.isCrossRepository | not)][0].number // empty'
}

shortened() { # the text $1, cut where a forge takes no more; what is open there is closed
  awk -v most="$longest_body" '
    { size += length($0) + 1 }
    size > most {
      if (fence != "") print fence
      print "\n(cut: the rest is in the summary of the run)"
      exit
    }
    fence == "" && /^```+/ { match($0, /^`+/); fence = substr($0, 1, RLENGTH); print; next }
    fence != "" && $0 == fence { fence = "" }
    { print }' "$1"
}

open_or_update() { # with the summary $1
  if ! has_gh; then return; fi
  local number short="$folder/pull-request.md"
  shortened "$1" >"$short"
  number=$(open_number)
  if [[ -n "$number" ]]; then
    gh pr edit "$number" --title "$title" --body-file "$short"
  else
    gh pr create --head "$branch" --base "$base" --title "$title" --body-file "$short"
  fi
}

leave() { # others have committed to the branch: say so once
  echo "propose_fixes: $branch has commits of others, and is left as it is: merge it, or delete the branch" >&2
  tell refused true
  if ! has_gh; then return; fi
  local number said
  number=$(open_number)
  if [[ -z "$number" ]]; then return; fi
  said=$(gh pr view "$number" --json comments --jq '.comments[].body')
  if [[ "$said" != *"$marker"* ]]; then
    gh pr comment "$number" --body "$marker
This branch has commits that ddelint did not make, so it is not updated any more. Merge it, or delete the branch to get a new proposal."
  fi
}

close() { # nothing is left to propose
  echo "propose_fixes: nothing to fix"
  if [[ -z "$known" ]] || ! has_gh; then return; fi
  if ! is_ours; then
    leave
    return
  fi
  local number
  number=$(open_number)
  if [[ -n "$number" ]]; then gh pr close "$number" --comment "Nothing is left to fix."; fi
}

title_of() { # of the summary $1, in one line that is no markup
  sed -n '1s/^#* *//p' "$1" | tr -d '[:cntrl:]' | cut -c 1-200
}

look_up() { # sets `known`: what the remote has under `branch`
  git check-ref-format "refs/heads/$branch" || fail "$branch is no name of a branch"
  if [[ "$branch" == "$base" ]]; then fail "the fixes cannot go straight to $base: name another branch"; fi
  known=$(git ls-remote "$remote" "refs/heads/$branch" | cut -f1)
  if [[ -n "$known" ]]; then fetch "$known" 3; fi
}

offer() { # the patches $2…, one commit each, as one pull request with the summary $1
  local summary=$1 one number=0 earlier
  shift
  if (($# == 0)); then
    close
    return
  fi
  if [[ -n "$known" ]] && ! is_ours; then
    leave
    refused=true
    return
  fi
  commit=$start
  for one in "$@"; do
    number=$((number + 1))
    title=$(title_of "$summary")
    if [[ "$one" == "$unsafe_patch" ]]; then title="unsafe fixes, ${title#ddelint: }" && title="ddelint: $title"; fi
    earlier=${known:+$known~$(($# - number))}
    commit_patch "$one" "$commit" "$title" "$earlier"
  done
  title=$(title_of "$summary")
  push
  open_or_update "$summary"
}

propose() {
  local patches=()
  [[ -f "$body" && -f "$made_on" ]] || fail "there is nothing in $folder: run \`propose_fixes.sh fix\` first"
  cd "$(git rev-parse --show-toplevel)"
  authorize
  target=$base
  look_up
  tell branch "$branch"
  if [[ -s "$patch" ]]; then patches+=("$patch"); fi
  if [[ ! -f "$unsafe_body" && -s "$unsafe_patch" ]]; then patches+=("$unsafe_patch"); fi
  start=
  if [[ -s "$patch" || -s "$unsafe_patch" ]]; then start=$(start_of) || exit 2; fi
  commit=$start refused=false
  offer "$body" ${patches[@]+"${patches[@]}"}
  if [[ "$refused" == true ]]; then return; fi
  if ((${#patches[@]})); then tell commit "$commit"; fi
  if [[ -f "$unsafe_body" ]]; then propose_unsafe; fi
}

propose_unsafe() { # a pull request of its own, whose base is the first one's branch, where there is one
  local patches=()
  if [[ -s "$patch" ]]; then base=$branch start=$commit; fi
  branch=$first_branch-unsafe
  target= # its base changes once the first one is merged
  look_up
  if [[ -s "$unsafe_patch" ]]; then patches=("$unsafe_patch"); fi
  offer "$unsafe_body" ${patches[@]+"${patches[@]}"}
}

# ---------------------------------------------------------------- suggest: runs nothing of the project

suggest() {
  local number=${DDELINT_PULL_REQUEST:-} said="$folder/said.txt" left="$folder/review.json"
  [[ "$number" =~ ^[0-9]+$ ]] || fail "suggestions need the number of a pull request in DDELINT_PULL_REQUEST"
  [[ -n "${GITHUB_REPOSITORY:-}" ]] || fail "suggestions need OWNER/NAME in GITHUB_REPOSITORY"
  [[ -f "$review" && -f "$made_on" ]] || fail "there is nothing in $folder: run \`propose_fixes.sh fix\` with --diff-base first"
  has_gh || fail "suggestions need \`gh\` and a token"
  gh api --paginate "repos/$GITHUB_REPOSITORY/pulls/$number/comments" --jq '.[].body' >"$said"
  python3 -I - "$review" "$said" "$made_on" >"$left" <<'END' || exit 2
import json, re, sys
review, said, made_on = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
review, mark = json.loads(review), re.compile(r"<!-- ddelint:[0-9a-f]{16} -->")
known = set(mark.findall(said))
comments = [one for one in review["comments"] if not known & set(mark.findall(one["body"]))]
if comments:  # a review that says nothing new is none
    text = review["body"] if not known else ""
    print(json.dumps({"event": "COMMENT", "body": text, "commit_id": made_on.strip(), "comments": comments}))
END
  if [[ -s "$left" ]]; then
    gh api --method POST "repos/$GITHUB_REPOSITORY/pulls/$number/reviews" --input "$left" >/dev/null
    echo "propose_fixes: suggested on #$number"
  else
    echo "propose_fixes: nothing new to suggest"
  fi
}

step=${1:-both}
folder=${DDELINT_FOLDER:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(realpath "$folder")
patch=$folder/ddelint.patch
body=$folder/ddelint.md
made_on=$folder/ddelint.base
unsafe_patch=$folder/ddelint.unsafe.patch
unsafe_body=$folder/ddelint.unsafe.md
review=$folder/ddelint.review.json
unsafe=${DDELINT_UNSAFE:-}
case $unsafe in
"" | commit | pull-request) ;;
*) fail "DDELINT_UNSAFE is commit, pull-request or nothing, not $unsafe" ;;
esac
remote=${DDELINT_REMOTE:-origin}
branch=${DDELINT_BRANCH:-ddelint/fixes}
first_branch=$branch
base=${DDELINT_BASE:-$(git rev-parse --abbrev-ref HEAD)}
case $step in
fix) fix ;;
propose) propose ;;
suggest) suggest ;;
both)
  fix
  propose
  ;;
*) fail "fix, propose, suggest or nothing, not $step" ;;
esac
