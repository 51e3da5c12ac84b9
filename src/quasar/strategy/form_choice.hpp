// Which trial wins where the model may have several forms, and the speed gate has measured what each of them takes.
#pragma once

#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// The trial with the best value wins, of those that meet the goal where there are some, with four exceptions.
// - A form that is slower than the first one must be better by a tenth.
// - A form gives way to one that gains() and is_good(). It only stands in where that one gives fewer of float's answers, or turns
//   out not to be good.
// - A form that is not faster than float, beside one that is, only stands in where that one is poor. If the faster one is not
//   good by the objective's value, a tenth decides between them.
// - A form that quantizes little, and so is near to float, only stands in for a winner that is poor.
// Sets the finding's winner and those that stand in for it; leaves it alone where there are several objectives.
void choose_form(const StrategyContext& context, Finding& finding);

// In a plain word, as far as the objective's value says.
bool is_good(const StrategyContext& context, const search::Trial& trial);

// Whether the model of this point has a form that quantizes little beside the first one.
bool is_lesser(const Spaces& spaces, const search::Point& point);

// Whether it has a form that is slower than the first one.
bool is_slower(const Spaces& spaces, const search::Point& point);

// Whether it has a form so much faster than the other point's that this is worth more than a smaller error of a good model.
bool gains(const Spaces& spaces, const search::Point& point, const search::Point& other);

// Whether a value is so much better that it is worth time: by a tenth of the other one. Of a share, such as top1, by a tenth of
// what the other one lacks of 1, since hardly any share can be a tenth larger than a good one.
bool outweighs(double value, double other, Direction direction);

}  // namespace quasar::tune
