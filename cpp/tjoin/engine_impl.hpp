// Member functions of Engine (included by engine.hpp).
#pragma once

namespace planaris::tjoin {

template <typename Int>
void Engine<Int>::push(Int key, int32_t from, int32_t to, int32_t kind) {
  if (has_end_ && key >= end_.key) return;  // the tree will have been matched by then
  ++count.pushes;
  if (key == now_) {
    soon_.push_back({key, from, to, kind});
    return;
  }
  heap_.push_back({key, from, to, kind});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

template <typename Int>
template <typename Poll>
Outcome Engine<Int>::search(int32_t root, int64_t budget, const Poll& poll) {
  ++count.searches;
  now_ = 0;
  has_end_ = walled_ = false;
  v_ = store_->v.data();
  region_ = store_->region.data();
  const int64_t stop = count.scans + budget;
  const int32_t r = v_[root].top;
  enter(r, 1);
  bool done = scan_region(r);
  while (!done && count.scans <= stop) {
    Event event;
    if (soon_head_ < soon_.size()) {
      event = soon_[soon_head_++];
    } else {
      soon_.clear();
      soon_head_ = 0;
      if (has_end_ && (heap_.empty() || heap_.front().key >= end_.key)) {
        event = end_;
      } else {
        if (heap_.empty()) throw std::logic_error("T-join: a tree cannot reach the boundary");
        std::pop_heap(heap_.begin(), heap_.end(), Later{});
        event = heap_.back();
        heap_.pop_back();
      }
      now_ = event.key;
    }
    ++count.pops;
    done = handle(event);
    try {
      poll();
    } catch (...) {
      finish();
      throw;
    }
  }
  finish();
  return !done ? Outcome::kGivenUp : walled_ ? Outcome::kWalled : Outcome::kMatched;
}

template <typename Int>
void Engine<Int>::enter(int32_t r, int8_t sign) {
  Region<Int>& region = region_[r];
  region.sign = sign;
  region.y = sign > 0 ? Int(region.y - now_) : Int(region.y + now_);
  labelled_.push_back(r);
}

// Schedules an event that ends the search, if none does so as early. It cannot become stale: the
// region it touches stays outside the tree until then.
template <typename Int>
void Engine<Int>::end_by(const Int& key, int32_t from, int32_t to, int32_t kind) {
  if (has_end_ && key >= end_.key) return;
  ++count.pushes;
  end_ = {key, from, to, kind};
  has_end_ = true;
}

// Schedules what may happen along the edges of v, a vertex of the outer region `own`.
template <typename Int>
bool Engine<Int>::scan_outer(int32_t v, int32_t own, Int dual_v) {
  ++count.scans;
  const auto* arc = &graph_->arcs[graph_->offsets[v]];
  const auto* end = &graph_->arcs[graph_->offsets[v + 1]];
  for (; arc != end; ++arc) {
    const int32_t x = arc->to;
    if (uint32_t(x - low_) >= span_ && x != graph_->n) {
      const Int room = halved(arc->weight) - dual_v;
      if (room == 0) return walled_ = true;
      end_by(now_ + room, v, x, kWall);
      continue;
    }
    if (v_[x].top < 0) {
      push(now_ + arc->weight - dual_v, v, x, kReach);
      continue;
    }
    const Place p = place(x);
    if (p.region == own) continue;
    const Region<Int>& r = region_[p.region];
    if (r.sign < 0) continue;
    const Int slack = arc->weight - dual_v - p.dual;
    if (r.sign > 0) {
      push(now_ + halved(slack), v, x, kMeet);
    } else if (r.mate_to >= 0 && r.mate_to != graph_->n) {
      push(now_ + slack, v, x, p.region);
    } else if (slack == 0) {
      return touch(p.region, v_[v].source, v_[x].source);
    } else {
      end_by(now_ + slack, v, x, p.region);
    }
  }
  return false;
}

template <typename Int>
bool Engine<Int>::scan_region(int32_t r) {
  const int32_t last = region_[r].last;
  for (int32_t v = region_[r].first;; v = v_[v].next) {
    const Place p = place(v);
    if (scan_outer(v, p.region, p.dual)) return true;
    if (v == last) return false;
  }
}

// v left the tree's inner part: outer neighbours may now get at it.
template <typename Int>
void Engine<Int>::scan_for_outer(int32_t v, Int dual_v, int32_t kind) {
  ++count.scans;
  const auto* arc = &graph_->arcs[graph_->offsets[v]];
  const auto* end = &graph_->arcs[graph_->offsets[v + 1]];
  for (; arc != end; ++arc) {
    const int32_t x = arc->to;
    if (uint32_t(x - low_) >= span_ || v_[x].top < 0) continue;  // the boundary is never outer
    const Place p = place(x);
    if (region_[p.region].sign <= 0) continue;
    push(now_ + arc->weight - dual_v - p.dual, x, v, kind);
  }
}

template <typename Int>
bool Engine<Int>::handle(const Event& event) {
  if (event.kind == kShrink) {
    const Region<Int>& r = region_[event.from];
    if (r.sign >= 0 || r.merged != event.from) return false;  // wrapped or expanded meanwhile
    return shrink(event.from);
  }
  if (event.kind == kWall) return walled_ = true;
  const int32_t x = event.to;
  // An event is stale when the far end changed its state; whoever changed it scanned anew.
  const int32_t top = v_[x].top < 0 ? -1 : top_of(x);
  if (event.kind == kReach) return top < 0 && reach(event.from, x);
  if (event.kind == kMeet) {
    const int32_t own = top_of(event.from);
    return own != top && blossom(own, top, v_[event.from].source, v_[x].source);
  }
  return top == event.kind && region_[top].sign == 0 &&
         touch(top, v_[event.from].source, v_[x].source);
}

// The ball of from's region swallows x, an even vertex nobody holds.
template <typename Int>
bool Engine<Int>::reach(int32_t from, int32_t x) {
  ++count.absorbed;
  const int32_t r = top_of(from);
  Region<Int>& region = region_[r];
  v_[x].top = r;
  v_[x].source = v_[from].source;
  v_[x].height = -dual(region);
  v_[x].next = region.first;
  region.first = x;
  return scan_outer(x, r, 0);
}

// from's region touches one outside the tree: match, or make it inner and its mate outer.
template <typename Int>
bool Engine<Int>::touch(int32_t r, int32_t from, int32_t to) {
  Region<Int>& region = region_[r];
  if (region.mate_to < 0 || region.mate_to == graph_->n) {
    augment(top_of(from), from, to);
    if (to != graph_->n) region.mate_from = to, region.mate_to = from;
    return true;
  }
  region.tree_from = to;
  region.tree_to = from;
  enter(r, -1);
  const int32_t mate = top_of(region.mate_to);
  enter(mate, 1);
  schedule_shrink(r);
  return scan_region(mate);
}

template <typename Int>
void Engine<Int>::augment(int32_t r, int32_t from, int32_t to) {
  for (;;) {
    Region<Int>& outer = region_[r];
    const int32_t old_to = outer.mate_to;
    outer.mate_from = from;
    outer.mate_to = to;
    if (old_to < 0) return;
    Region<Int>& inner = region_[top_of(old_to)];
    inner.mate_from = inner.tree_from;
    inner.mate_to = inner.tree_to;
    from = inner.tree_to;
    to = inner.tree_from;
    r = top_of(from);
  }
}

template <typename Int>
int32_t Engine<Int>::meeting_point(int32_t a, int32_t b) {
  ++mark_;
  const auto up = [this](int32_t r) {
    const int32_t to = region_[r].mate_to;
    return to < 0 ? -1 : top_of(region_[top_of(to)].tree_to);
  };
  for (;; std::swap(a, b)) {
    if (a < 0) continue;
    if (region_[a].mark == mark_) return a;
    region_[a].mark = mark_;
    a = up(a);
  }
}

// Wraps the odd cycle that the tight pair (from, to) closes in the tree.
template <typename Int>
bool Engine<Int>::blossom(int32_t a, int32_t b, int32_t from, int32_t to) {
  ++count.blossoms;
  const int32_t root = meeting_point(a, b);
  if (spare_.empty() && span_ != uint32_t(graph_->n)) {
    throw std::logic_error("T-join: a range has more blossoms than odd vertices allow");
  }
  const int32_t made = store_->new_region(spare_);
  region_ = store_->region.data();
  std::vector<int32_t>& nodes = cycle_nodes_;
  nodes.clear();
  // From the meeting point down to a ...
  for (int32_t r = a; r != root;) {
    nodes.push_back(r);
    const int32_t inner = top_of(region_[r].mate_to);
    nodes.push_back(inner);
    r = top_of(region_[inner].tree_to);
  }
  nodes.push_back(root);
  std::reverse(nodes.begin(), nodes.end());
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    Region<Int>& above = region_[nodes[i]];
    const Region<Int>& below = region_[nodes[i + 1]];
    if (i % 2 == 0) {
      above.cycle_from = below.tree_to, above.cycle_to = below.tree_from;
    } else {
      above.cycle_from = below.mate_to, above.cycle_to = below.mate_from;
    }
  }
  region_[a].cycle_from = from;
  region_[a].cycle_to = to;
  // ... across, and up from b.
  for (int32_t r = b; r != root;) {
    Region<Int>& outer = region_[r];
    const int32_t in = top_of(outer.mate_to);
    Region<Int>& inner = region_[in];
    outer.cycle_from = outer.mate_from, outer.cycle_to = outer.mate_to;
    inner.cycle_from = inner.tree_from, inner.cycle_to = inner.tree_to;
    nodes.push_back(r);
    nodes.push_back(in);
    r = top_of(inner.tree_to);
  }
  Region<Int>& whole = region_[made];
  whole.y = 0;
  whole.mate_from = region_[root].mate_from;
  whole.mate_to = region_[root].mate_to;
  whole.child = root;
  whole.first = whole.core = region_[root].first;
  whole.last = region_[nodes.back()].last;
  stack_.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Region<Int>& child = region_[nodes[i]];
    const int32_t next = nodes[i + 1 == nodes.size() ? 0 : i + 1];
    child.cycle = next;
    if (i + 1 < nodes.size()) v_[child.last].next = region_[next].first;
    if (child.sign < 0) stack_.push_back(nodes[i]);
    child.y = dual(child);
    child.shift = child.y;
    child.sign = 0;
    child.inside = true;
    child.merged = made;
  }
  enter(made, 1);
  formed_.push_back(made);
  // scan_region may not recurse into blossom(), so stack_ is safe here.
  for (const int32_t r : stack_) {
    if (scan_region(r)) return true;
  }
  return false;
}

template <typename Int>
void Engine<Int>::schedule_shrink(int32_t r) {
  const Region<Int>& region = region_[r];
  Int room = dual(region);
  if (region.first != region.core) room += v_[region.first].height;
  push(now_ + room, r, -1, kShrink);
}

template <typename Int>
bool Engine<Int>::shrink(int32_t r) {
  Region<Int>& region = region_[r];
  if (region.first != region.core) {
    const int32_t v = region.first;
    if (dual(region) + v_[v].height != 0) return false;  // stale: from an earlier entry
    ++count.released;
    region.first = v_[v].next;
    v_[v].top = -1;
    v_[v].height = 0;
    schedule_shrink(r);
    scan_for_outer(v, 0, kReach);
    return false;
  }
  if (region.child >= 0) return expand(r);
  // A ball of radius zero: parent and child of the tree touch across its odd vertex.
  const int32_t from = region.tree_to, to = region.mate_to;
  return blossom(top_of(from), top_of(to), from, to);
}

// Undoes an inner blossom whose dual is zero: an even path of it stays in the tree.
template <typename Int>
bool Engine<Int>::expand(int32_t r) {
  ++count.expansions;
  const Region<Int> old = region_[r];
  std::vector<int32_t>& nodes = cycle_nodes_;
  nodes.clear();
  int32_t c = old.child;
  do {
    store_->free_child(c);
    nodes.push_back(c);
    c = region_[c].cycle;
  } while (c != old.child);
  region_[r].sign = 0;
  region_[r].spare = true;
  spare_.push_back(r);
  const size_t k = nodes.size();
  const int32_t entry = v_[old.tree_from].top, exit = v_[old.mate_from].top;
  const size_t i = std::find(nodes.begin(), nodes.end(), entry) - nodes.begin();
  const size_t j = std::find(nodes.begin(), nodes.end(), exit) - nodes.begin();
  const auto at = [&](size_t index) -> Region<Int>& { return region_[nodes[index % k]]; };
  const auto match = [&](size_t index) {  // nodes index and index + 1
    Region<Int>&p = at(index), &q = at(index + 1);
    p.mate_from = q.mate_to = p.cycle_from;
    p.mate_to = q.mate_from = p.cycle_to;
  };
  const size_t ahead = (j + k - i) % k;
  stack_.clear();
  if (ahead % 2 == 0) {  // the tree runs i, i+1, ..., j
    for (size_t s = 0; s < ahead; s += 2) {
      match(i + s);
      Region<Int>& inner = at(i + s + 2);
      inner.tree_from = at(i + s + 1).cycle_to;
      inner.tree_to = at(i + s + 1).cycle_from;
    }
    for (size_t s = ahead + 1; s < k; s += 2) match(i + s);
    for (size_t s = 0; s <= ahead; ++s) stack_.push_back(nodes[(i + s) % k]);
  } else {  // i, i-1, ..., j
    const size_t back = k - ahead;
    for (size_t s = 0; s < back; s += 2) {
      match(i + k - s - 1);
      Region<Int>& inner = at(i + k - s - 2);
      inner.tree_from = inner.cycle_from;
      inner.tree_to = inner.cycle_to;
    }
    for (size_t s = 1; s < ahead; s += 2) match(i + s);
    for (size_t s = 0; s <= back; ++s) stack_.push_back(nodes[(i + k - s) % k]);
  }
  region_[entry].tree_from = old.tree_from, region_[entry].tree_to = old.tree_to;
  region_[exit].mate_from = old.mate_from, region_[exit].mate_to = old.mate_to;
  for (size_t s = 0; s < stack_.size(); ++s) enter(stack_[s], s % 2 == 0 ? -1 : 1);
  // The others, between the ends of the path, leave the tree as matched pairs.
  const size_t from = ahead % 2 == 0 ? i + ahead + 1 : i + 1;
  for (size_t s = from; s < from + k - stack_.size(); ++s) {
    const int32_t x = nodes[s % k];
    for (int32_t v = region_[x].first;; v = v_[v].next) {
      scan_for_outer(v, v_[v].height + region_[x].y, x);
      if (v == region_[x].last) break;
    }
  }
  for (size_t s = 0; s < stack_.size(); ++s) {
    if (s % 2 == 0) {
      schedule_shrink(stack_[s]);
    } else if (scan_region(stack_[s])) {
      return true;
    }
  }
  return false;
}

// Writes the duals of the tree back and brings vertices of new blossoms up to date.
template <typename Int>
void Engine<Int>::finish() {
  count.largest = std::max<int64_t>(count.largest, int64_t(labelled_.size()));
  for (const int32_t r : labelled_) {
    Region<Int>& region = region_[r];
    region.y = dual(region);
    region.sign = 0;
  }
  labelled_.clear();
  for (const int32_t r : formed_) {
    if (region_[r].merged != r) continue;
    for (int32_t v = region_[r].first;; v = v_[v].next) {
      v_[v].top = resolve(v_[v].top, v_[v].height);
      if (v == region_[r].last) break;
    }
  }
  for (const int32_t r : formed_) {
    int32_t c = region_[r].child;
    do {
      region_[c].merged = c;
      c = region_[c].cycle;
    } while (c != region_[r].child);
  }
  formed_.clear();
  heap_.clear();
  soon_.clear();
  soon_head_ = 0;
}

}  // namespace planaris::tjoin
